// An array on disk seen through a moving window: no more of it is mapped, for any size.
#pragma once

#include <filesystem>
#include <span>

#include "core/graph/files/npy_header.hpp"

namespace orrery {

/// Elements of a .npy file through one mapping of some megabytes, which is moved to the requested
/// elements. So neither resident memory nor address space grows with the file. Runs of ascending
/// elements seldom move it.
///
/// Errors    DataError: as read_npy_header; the file cannot be mapped
class NpyWindow {
 public:
  explicit NpyWindow(const std::filesystem::path& path);
  ~NpyWindow();
  NpyWindow(const NpyWindow&) = delete;
  NpyWindow& operator=(const NpyWindow&) = delete;

  const NpyHeader& header() const { return header_; }

  /// Some elements, valid until the next call.
  ///
  /// Requires  T as in the header; first + count within the array
  template <class T>
  std::span<const T> elements(std::int64_t first, std::int64_t count) {
    return {reinterpret_cast<const T*>(
                bytes(first * std::int64_t{sizeof(T)}, count * std::int64_t{sizeof(T)})),
            static_cast<std::size_t>(count)};
  }

 private:
  const char* bytes(std::int64_t first, std::int64_t count);
  void move_to(std::int64_t begin, std::int64_t end);
  void unmap();

  NpyHeader header_;
  int file_ = -1;
  std::int64_t file_bytes_ = 0;
  const char* window_ = nullptr;
  std::int64_t begin_ = 0, end_ = 0;  ///< of the window in the file
};

}  // namespace orrery
