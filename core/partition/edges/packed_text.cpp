#include "core/partition/edges/packed_text.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/error.hpp"

namespace orrery {
namespace {

constexpr std::size_t kInput = 1U << 18U;  // bytes
constexpr int kGzip = 15 + 16;             // zlib: the largest window, and only gzip's header

}  // namespace

PackedText::PackedText(const std::filesystem::path& path)
    : path_(path.string()), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)), input_(kInput) {
  if (file_ < 0)
    throw DataError(path_, "", fmt::format("cannot be opened: {}", std::strerror(errno)));
  if (inflateInit2(&stream_, kGzip) != Z_OK) {
    ::close(file_);
    throw Error("zlib could not be started");
  }
}

PackedText::~PackedText() {
  inflateEnd(&stream_);
  ::close(file_);
}

void PackedText::fail(const std::string& problem) const {
  throw DataError(path_, fmt::format("byte {}", consumed_), problem);
}

void PackedText::rewind() {
  if (consumed_ + end_ == 0) return;  // nothing was read
  if (::lseek(file_, 0, SEEK_SET) != 0)
    fail(fmt::format("cannot be read again from its beginning: {}", std::strerror(errno)));
  begin_ = end_ = consumed_ = 0;
  inflateReset(&stream_);
  between_members_ = false;
}

bool PackedText::has_input() {
  if (begin_ < end_) return true;
  begin_ = end_ = 0;
  while (end_ < 2) {  // a gzip file is known by two bytes
    const ssize_t got = ::read(file_, input_.data() + end_, input_.size() - end_);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(fmt::format("cannot be read on: {}", std::strerror(errno)));
    if (got == 0) break;
    end_ += static_cast<std::size_t>(got);
  }
  if (consumed_ == 0) packed_ = end_ >= 2 && input_[0] == 0x1f && input_[1] == 0x8b;
  return end_ > 0;
}

std::size_t PackedText::read(char* out, std::size_t room) {
  const bool more = has_input();
  if (packed_) return inflate_some(out, room);
  if (!more) return 0;
  const std::size_t count = std::min(room, end_ - begin_);
  std::memcpy(out, input_.data() + begin_, count);
  begin_ += count;
  consumed_ += count;
  return count;
}

std::size_t PackedText::inflate_some(char* out, std::size_t room) {
  for (;;) {
    const bool more = has_input();
    if (!more && between_members_) return 0;
    if (!more) fail("expected more gzip data, found the end of the file (it is cut short)");
    if (between_members_) inflateReset(&stream_);
    stream_.next_in = input_.data() + begin_;
    stream_.avail_in = static_cast<uInt>(end_ - begin_);
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(room, 1U << 30U));
    const uInt asked = stream_.avail_out;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    const std::size_t taken = end_ - begin_ - stream_.avail_in;
    begin_ += taken;
    consumed_ += taken;
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
      fail(fmt::format("expected gzip data, found damage ({})",
                       stream_.msg != nullptr ? stream_.msg : "zlib"));
    between_members_ = status == Z_STREAM_END;
    if (stream_.avail_out < asked) return asked - stream_.avail_out;
  }
}

}  // namespace orrery
