// A text of any length, plain or gzip, read from beginning to end.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace orrery {

/// Reads the text of a file, inflated if it is gzip (recognised by its first bytes; several members
/// form one text). Holds a piece of the file, never all of it.
///
/// Errors    DataError (file, byte in it): it cannot be opened or read; gzip data that is damaged, cut
///           short, or followed by something else
class PackedText {
 public:
  explicit PackedText(const std::filesystem::path& path);
  ~PackedText();
  PackedText(const PackedText&) = delete;
  PackedText& operator=(const PackedText&) = delete;

  /// Back to the beginning; for a pipe only before anything was read.
  void rewind();
  /// The next bytes, 1 to `room` of them; 0 at the end.
  std::size_t read(char* out, std::size_t room);

 private:
  std::size_t inflate_some(char* out, std::size_t room);
  /// Whether there is input left; reads more if the buffer is empty.
  bool has_input();
  [[noreturn]] void fail(const std::string& problem) const;

  std::string path_;
  int file_;
  std::vector<unsigned char> input_;
  std::size_t begin_ = 0, end_ = 0;  ///< unread part of it
  std::size_t consumed_ = 0;         ///< bytes of the file before it
  bool packed_ = false, between_members_ = false;
  z_stream stream_{};
};

}  // namespace orrery
