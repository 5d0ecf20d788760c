#include "core/graph/files/npy_window.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/error.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kWindowBytes = 1 << 24;

}  // namespace

NpyWindow::NpyWindow(const std::filesystem::path& path) : header_(read_npy_header(path)) {
  file_bytes_ =
      static_cast<std::int64_t>(header_.data_offset) + header_.elements * header_.element_bytes;
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0)
    throw DataError(header_.path, "",
                    fmt::format("expected a readable file, found: {}", std::strerror(errno)));
}

NpyWindow::~NpyWindow() {
  unmap();
  if (file_ >= 0) ::close(file_);
}

const char* NpyWindow::bytes(std::int64_t first, std::int64_t count) {
  const std::int64_t begin = static_cast<std::int64_t>(header_.data_offset) + first;
  if (window_ == nullptr || begin < begin_ || begin + count > end_) {
    if (count == 0) return nullptr;
    move_to(begin, begin + count);
  }
  return window_ + (begin - begin_);
}

void NpyWindow::move_to(std::int64_t begin, std::int64_t end) {
  static const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  unmap();
  const std::int64_t from = begin / page * page;
  const std::int64_t to = std::min(file_bytes_, std::max(end, from + kWindowBytes));
  void* mapped =
      ::mmap(nullptr, static_cast<std::size_t>(to - from), PROT_READ, MAP_PRIVATE, file_, from);
  if (mapped == MAP_FAILED)
    throw DataError(header_.path, fmt::format("byte {}", from),
                    fmt::format("cannot be mapped: {}", std::strerror(errno)));
  window_ = static_cast<const char*>(mapped);
  begin_ = from;
  end_ = to;
}

void NpyWindow::unmap() {
  if (window_ != nullptr)
    ::munmap(const_cast<char*>(window_), static_cast<std::size_t>(end_ - begin_));
  window_ = nullptr;
}

}  // namespace orrery
