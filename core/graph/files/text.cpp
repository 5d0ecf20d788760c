#include "core/graph/files/text.hpp"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/base/error.hpp"

namespace orrery {
namespace {

constexpr std::size_t kMostPacked = 100;  // edge lists become a third to a tenth

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

/// Inflates all members of a gzip file.
std::string inflate_all(const std::string& path, std::string_view input) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) throw Error("zlib could not be started");
  const auto release = [](z_stream* s) { inflateEnd(s); };
  const std::unique_ptr<z_stream, decltype(release)> guard(&stream, release);

  const std::size_t most = kMostPacked * input.size() + (std::size_t{1} << 24U);
  std::string output(std::max<std::size_t>(input.size() * 4, 1 << 16), '\0');
  std::size_t consumed = 0, produced = 0;
  const auto piece = [](std::size_t size) {
    return static_cast<uInt>(std::min<std::size_t>(size, 1U << 30U));
  };
  int status = Z_OK;
  while (status != Z_STREAM_END || consumed < input.size()) {
    if (status == Z_STREAM_END) inflateReset(&stream);
    if (produced == output.size()) {
      if (produced >= most)
        throw DataError(path, fmt::format("byte {}", consumed),
                        fmt::format("expected at most {} bytes of text in {} packed ones, found "
                                    "more; no list of numbers packs so well",
                                    most, input.size()));
      output.resize(std::min(output.size() * 2, most));
    }
    const uInt in = piece(input.size() - consumed), out = piece(output.size() - produced);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data() + consumed));
    stream.next_out = reinterpret_cast<Bytef*>(output.data() + produced);
    stream.avail_in = in;
    stream.avail_out = out;
    status = inflate(&stream, Z_NO_FLUSH);
    consumed += in - stream.avail_in;
    produced += out - stream.avail_out;
    if (status == Z_BUF_ERROR) break;  // needs input that is missing
    if (status != Z_OK && status != Z_STREAM_END)
      throw DataError(
          path, fmt::format("byte {}", consumed),
          fmt::format("expected gzip data, found damage ({})", stream.msg ? stream.msg : "zlib"));
  }
  if (status != Z_STREAM_END)
    throw DataError(path, fmt::format("byte {}", input.size()),
                    "expected more gzip data, found the end of the file (it is cut short)");
  output.resize(produced);
  return output;
}

}  // namespace

TextFile::TextFile(const std::filesystem::path& path) : file_(path), text_(file_.bytes()) {
  if (is_gzip(text_)) {
    inflated_ = inflate_all(file_.path(), text_);
    text_ = inflated_;
  }
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // of editors that mark UTF-8
  if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
}

std::int64_t TextFile::line_number(const char* place) const {
  return 1 + std::count(text_.data(), place, '\n');
}

void TextFile::fail(const TextProblem& problem) const {
  throw DataError(path(), fmt::format("line {}", line_number(problem.place)), problem.message);
}

const char* find_data_line(const TextFile& file, std::int64_t row) {
  const char* p = file.text().data();
  while (p < file.end()) {
    const char* end = std::find(p, file.end(), '\n');
    if (!Line(p, end).skippable() && row-- == 0) return p;
    p = end == file.end() ? end : end + 1;
  }
  return file.end();
}

std::uint64_t Line::integer(const char* what) {
  if (at_end()) fail(what);
  const char* p = next_;
  std::uint64_t value = 0;
  bool overflow = false;
  for (; p != end_ && *p >= '0' && *p <= '9'; ++p) {
    const auto digit = static_cast<std::uint64_t>(*p - '0');
    overflow |= value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10;
    value = value * 10 + digit;
  }
  const bool ends = p == end_ || separates(p);
  if (p == next_ || !ends || overflow) fail(what);
  next_ = p;
  return value;
}

double Line::number(const char* what) {
  if (at_end()) fail(what);
  const char* start = next_ + (*next_ == '+');
  double value = 0;
  const auto [p, error] = std::from_chars(start, end_, value);
  const bool ends = p == end_ || separates(p);
  if (error != std::errc() || !ends) fail(what);
  next_ = p;
  return value;
}

std::string_view Line::field() {
  if (at_end()) return {};
  const char* begin = next_;
  while (next_ != end_ && !separates(next_)) ++next_;
  return {begin, static_cast<std::size_t>(next_ - begin)};
}

void Line::fail(const std::string& expected) {
  const bool nothing = at_end();
  const char* place = next_;
  const std::string_view found = field().substr(0, 40);
  throw TextProblem{place,
                    fmt::format("expected {}, found {}", expected,
                                nothing ? "the end of the line" : fmt::format("'{}'", found))};
}

std::int32_t read_vertex(Line& line, std::int64_t vertices) {
  Line retry = line;
  const std::uint64_t id = line.integer("a vertex number");
  if (id >= static_cast<std::uint64_t>(vertices))
    retry.fail(fmt::format("a vertex number below {}", vertices));
  return static_cast<std::int32_t>(id);
}

}  // namespace orrery
