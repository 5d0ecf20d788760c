#include "core/partition/edges/edge_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "core/base/error.hpp"
#include "core/graph/files/text.hpp"
#include "core/graph/plausible.hpp"
#include "core/partition/edges/packed_text.hpp"

namespace orrery {
namespace {

constexpr std::size_t kBuffer = 1 << 22;  // bytes; the longest line that can be read

class TextEdges final : public EdgeStream {
 public:
  explicit TextEdges(const std::filesystem::path& path)
      : path_(path.string()),
        text_(path),
        buffer_(std::make_unique_for_overwrite<char[]>(kBuffer)),
        most_(most_vertices(path)) {
    if (std::filesystem::is_directory(path))
      throw DataError(path_, "", "cannot be opened: is a folder");
    block_.reserve(kStreamBlock);
  }

  void rewind() override {
    text_.rewind();
    begin_ = end_ = 0;
    line_ = 0;
  }

  std::span<const Edge> next() override {
    block_.clear();
    while (block_.size() < kStreamBlock) {
      const char* line = buffer_.get() + begin_;
      const auto* stop = static_cast<const char*>(std::memchr(line, '\n', end_ - begin_));
      if (stop == nullptr && fill()) continue;
      if (stop == nullptr && begin_ == end_) break;
      line = buffer_.get() + begin_;
      if (stop == nullptr) stop = buffer_.get() + end_;  // the last line needs no end
      ++line_;
      parse(line, stop);
      begin_ = std::min(end_, static_cast<std::size_t>(stop - buffer_.get()) + 1);
    }
    return block_;
  }

 private:
  /// Makes room for and reads more text; false at the end of the file.
  bool fill() {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    if (end_ == kBuffer)
      throw DataError(path_, fmt::format("line {}", line_ + 1),
                      fmt::format("is longer than {} bytes; expected two vertex numbers", kBuffer));
    const std::size_t got = text_.read(buffer_.get() + end_, kBuffer - end_);
    end_ += got;
    return got > 0;
  }

  void parse(const char* begin, const char* end) {
    Line line(begin, end);
    if (line.skippable()) return;
    try {
      const Vertex u = read_vertex(line, kMaxVertices), v = read_vertex(line, kMaxVertices);
      if (std::max(u, v) >= most_)
        throw TextProblem{
            begin, fmt::format("expected vertex numbers from 0 to {}{}, found {} and {}", most_ - 1,
                               kOfItsSize, u, v)};
      block_.push_back({u, v});
    } catch (const TextProblem& problem) {
      throw DataError(path_, fmt::format("line {}", line_), problem.message);
    }
  }

  std::string path_;
  PackedText text_;
  std::unique_ptr<char[]> buffer_;   // not zeroed: a small file needs little of it
  std::size_t begin_ = 0, end_ = 0;  ///< unread text in the buffer
  std::int64_t line_ = 0;
  std::int64_t most_;
  std::vector<Edge> block_;
};

}  // namespace

std::int64_t most_vertices(const std::filesystem::path& file) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file, error);
  if (error) return kMaxVertices;  // a pipe has no size
  constexpr std::uintmax_t kBelowOverflow = 1U << 30U;
  return std::min(kMaxVertices,
                  most_plausible(static_cast<std::int64_t>(std::min(bytes, kBelowOverflow))));
}

std::unique_ptr<EdgeStream> open_edge_text(const std::filesystem::path& file) {
  return std::make_unique<TextEdges>(file);
}

}  // namespace orrery
