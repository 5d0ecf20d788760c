#include "core/inference/input/edge_list_files.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/graph/files/npy_header.hpp"
#include "core/graph/files/text.hpp"
#include "core/graph/plausible.hpp"
#include "core/inference/input/storage_rate.hpp"
#include "core/partition/edges/edge_text.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using File = EdgeListFiles::File;

static_assert(std::endian::native == std::endian::little, "binary edge files have a fixed form");

constexpr std::int64_t kText = 1 << 22;             // bytes read at once; the longest line
constexpr std::int64_t kRecords = 1 << 12;          // read at once: they fit into a core's cache
constexpr std::int64_t kRecordsOfThread = 1 << 16;  // that a thread reads

/// A file with reads at any place.
class OpenedFile {
 public:
  explicit OpenedFile(const fs::path& path)
      : path_(path.string()),
        // Not to wait for the other end of a pipe, which has no ranges.
        file_(fs::is_directory(path) ? -1
                                     : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (file_ < 0)
      throw DataError(path_, "",
                      fmt::format("cannot be opened: {}",
                                  fs::is_directory(path) ? "is a folder" : std::strerror(errno)));
  }
  ~OpenedFile() { ::close(file_); }
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;

  /// The number of `bytes` at `offset` that were there: fewer at the end of the file. Waits as long
  /// as the storage takes for them.
  std::int64_t read(std::int64_t offset, void* out, std::int64_t bytes) const {
    const std::int64_t got = read_at_once(offset, out, bytes);
    pass_storage(got);
    return got;
  }
  /// The same for whoever calls pass_storage() for many of them together: a wait is hardly shorter
  /// than 50 us.
  std::int64_t read_at_once(std::int64_t offset, void* out, std::int64_t bytes) const {
    std::int64_t got = 0;
    while (got < bytes) {
      const auto more =
          ::pread(file_, static_cast<char*>(out) + got, at(bytes - got), offset + got);
      if (more < 0 && errno == EINTR) continue;
      if (more < 0)
        throw DataError(path_, fmt::format("byte {}", offset + got),
                        fmt::format("cannot be read: {}", std::strerror(errno)));
      if (more == 0) break;
      got += more;
    }
    return got;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int file_;
};

/// Numbers of vertices: those below `vertices`.
struct Bound {
  std::int64_t vertices = 0;
  bool stated = false;
  std::string words() const {
    return fmt::format("expected vertices from 0 to {}{}", vertices - 1,
                       stated                    ? " (dataset.edge_list.vertices)"
                       : vertices < kMaxVertices ? kOfItsSize
                                                 : " (every number up to the largest is a vertex)");
  }
};

/// A rank's reader of one file.
class PieceOfFile {
 public:
  virtual ~PieceOfFile() = default;
  /// Adds edges until there are `most` in all or nothing is left.
  virtual void next(std::int64_t most, std::vector<Edge>& into) = 0;
  /// The largest number of a vertex so far; −1: no edge yet.
  Vertex largest() const { return largest_; }

 protected:
  Vertex largest_ = -1;
};

/// Edges of a known number of bytes each.
template <class Number>
class Records final : public PieceOfFile {
 public:
  Records(const File& file, std::int64_t first, std::int64_t count, Bound bound)
      : file_(file), opened_(file.path), next_(first), end_(first + count), bound_(bound) {}

  void next(std::int64_t most, std::vector<Edge>& into) override {
    const std::int64_t count =
        std::min(end_ - next_, most - static_cast<std::int64_t>(into.size()));
    if (count <= 0) return;
    const std::size_t place = into.size();
    into.resize(place + at(count));
    std::atomic<std::uint64_t> most_of_all{0};
    parallel_for(count, kRecordsOfThread, [&](std::int64_t begin, std::int64_t end) {
      Numbers numbers(at(2 * kRecords));
      Unsigned largest = 0;
      for (std::int64_t first = begin; first < end; first += kRecords) {
        const std::int64_t some = std::min(kRecords, end - first);
        read_records(next_ + first, some, numbers);
        for (const Number number : std::span(numbers).first(2 * at(some)))
          largest = std::max(largest, static_cast<Unsigned>(number));
        const auto [step, to] = places(some);
        for (std::size_t i = 0; i < at(some); ++i)
          into[place + at(first) + i] = {static_cast<Vertex>(numbers[i * step]),
                                         static_cast<Vertex>(numbers[i * step + to])};
      }
      pass_storage(2 * static_cast<std::int64_t>(sizeof(Number)) * (end - begin));
      std::uint64_t known = most_of_all;
      while (known < largest && !most_of_all.compare_exchange_weak(known, largest)) continue;
    });
    if (!is_vertex(static_cast<Number>(most_of_all))) tell_culprit(count);
    largest_ = std::max(largest_, static_cast<Vertex>(most_of_all));
    next_ += count;
  }

 private:
  using Unsigned = std::make_unsigned_t<Number>;  // a negative number is above all others
  using Numbers = std::vector<Number>;

  bool is_vertex(Number number) const {
    return static_cast<std::uint64_t>(static_cast<Unsigned>(number)) <
           static_cast<std::uint64_t>(bound_.vertices);
  }
  /// From one source to the next, and to its destination.
  std::pair<std::size_t, std::size_t> places(std::int64_t count) const {
    return file_.in_rows ? std::pair<std::size_t, std::size_t>{2, 1}
                         : std::pair<std::size_t, std::size_t>{1, at(count)};
  }
  void read_records(std::int64_t first, std::int64_t count, Numbers& numbers) const {
    if (file_.in_rows) return read(2 * first, numbers.data(), 2 * count);
    read(first, numbers.data(), count);
    read(file_.edges + first, numbers.data() + count, count);
  }
  /// Some of the next records are no edges; the error names the first.
  [[noreturn]] void tell_culprit(std::int64_t count) const {
    Numbers numbers(at(2 * kRecords));
    for (std::int64_t first = next_; first < next_ + count; first += kRecords) {
      const std::int64_t some = std::min(kRecords, next_ + count - first);
      read_records(first, some, numbers);
      const auto [step, to] = places(some);
      for (std::size_t i = 0; i < at(some); ++i) {
        const Number source = numbers[i * step], destination = numbers[i * step + to];
        if (is_vertex(source) && is_vertex(destination)) continue;
        throw DataError(opened_.path(),
                        fmt::format("edge {}", first + static_cast<std::int64_t>(i)),
                        fmt::format("{}, found {} and {}", bound_.words(), source, destination));
      }
    }
    throw DataError(opened_.path(), fmt::format("edge {}", next_), "changed while it was read");
  }
  void read(std::int64_t first, Number* out, std::int64_t count) const {
    constexpr std::int64_t kBytes = sizeof(Number);
    if (opened_.read_at_once(file_.data_offset + kBytes * first, out, kBytes * count) !=
        kBytes * count)
      throw DataError(opened_.path(), fmt::format("edge {}", next_),
                      "is missing: the file became shorter");
  }
  File file_;
  OpenedFile opened_;
  std::int64_t next_, end_;
  Bound bound_;
};

/// The edge in a line; empty: there is none.
std::optional<Edge> edge_of(Line line, const Bound& bound) {
  if (line.skippable()) return std::nullopt;
  const auto vertex = [&](const char* what) {
    const char* place = line.place();
    const std::uint64_t id = line.integer(what);
    if (id >= static_cast<std::uint64_t>(bound.vertices))
      throw TextProblem{place, fmt::format("{}, found {}", bound.words(), id)};
    return static_cast<Vertex>(id);
  };
  const Vertex source = vertex("a vertex number (the edge's source)");
  return Edge{source, vertex("a vertex number (the edge's destination)")};
}

/// The lines of a plain text that begin in a range of its bytes.
class Lines final : public PieceOfFile {
 public:
  Lines(const File& file, std::int64_t begin, std::int64_t end, Bound bound)
      : opened_(file.path),
        range_end_(end),
        bound_(bound),
        text_(std::make_unique_for_overwrite<char[]>(at(kText))) {
    // A line begins where the byte before ends one.
    start_ = std::max<std::int64_t>(begin - 1, 0);
    if (begin > 0 && begin < end) skip_line();
  }

  void next(std::int64_t most, std::vector<Edge>& into) override {
    while (static_cast<std::int64_t>(into.size()) < most && place() < range_end_) {
      const std::optional<std::size_t> stop = line_end();
      if (!stop) return;
      try {
        if (const auto edge = edge_of({text_.get() + from_, text_.get() + *stop}, bound_)) {
          into.push_back(*edge);
          largest_ = std::max(largest_, std::max(edge->source, edge->destination));
        }
      } catch (const TextProblem& problem) {
        throw DataError(opened_.path(), fmt::format("line {}", line_number()), problem.message);
      }
      from_ = std::min(*stop + 1, to_);
    }
  }

 private:
  /// The place in the file, in bytes, where the next line begins.
  std::int64_t place() const { return start_ + static_cast<std::int64_t>(from_); }

  /// The end of the line that begins at from_; empty: the text ends.
  std::optional<std::size_t> line_end() {
    for (;;) {
      const auto* stop =
          static_cast<const char*>(std::memchr(text_.get() + from_, '\n', to_ - from_));
      if (stop != nullptr) return at(stop - text_.get());
      if (fill()) continue;
      if (from_ == to_) return std::nullopt;
      return to_;  // the last line needs no end
    }
  }
  bool fill() {
    std::memmove(text_.get(), text_.get() + from_, to_ - from_);
    start_ += static_cast<std::int64_t>(from_);
    to_ -= from_;
    from_ = 0;
    if (to_ == at(kText))
      throw DataError(opened_.path(), fmt::format("line {}", line_number()),
                      fmt::format("is longer than {} bytes; expected two vertex numbers", kText));
    const std::int64_t got =
        opened_.read(start_ + static_cast<std::int64_t>(to_), text_.get() + to_,
                     kText - static_cast<std::int64_t>(to_));
    to_ += at(got);
    return got > 0;
  }
  void skip_line() {
    while (const auto stop = line_end()) {
      const bool ends = *stop < to_;
      from_ = std::min(*stop + 1, to_);
      if (ends) return;
    }
  }
  /// Counted from the beginning of the file, because only errors need it.
  std::int64_t line_number() const {
    std::vector<char> piece(at(std::min(kText, place())));
    std::int64_t lines = 1;
    for (std::int64_t first = 0; first < place(); first += kText) {
      const std::int64_t count =
          opened_.read(first, piece.data(), std::min(kText, place() - first));
      lines += std::count(piece.begin(), piece.begin() + count, '\n');
    }
    return lines;
  }

  OpenedFile opened_;
  std::int64_t range_end_;
  Bound bound_;
  std::unique_ptr<char[]> text_;   // not zeroed: a small file needs little of it
  std::int64_t start_ = 0;         ///< of text_ in the file
  std::size_t from_ = 0, to_ = 0;  ///< the part of it to read
};

/// A packed text, which cannot be read in ranges.
class PackedLines final : public PieceOfFile {
 public:
  PackedLines(const File& file, Bound bound)
      : path_(file.path.string()), stream_(open_edge_text(file.path)), bound_(std::move(bound)) {}
  void next(std::int64_t most, std::vector<Edge>& into) override {
    while (static_cast<std::int64_t>(into.size()) < most) {
      if (rest_.empty()) rest_ = stream_->next();
      if (rest_.empty()) return;
      const std::size_t count = std::min(rest_.size(), at(most) - into.size());
      for (const Edge& e : rest_.first(count)) {
        if (std::max(e.source, e.destination) >= bound_.vertices)
          throw DataError(
              path_, fmt::format("edge {}", read_),
              fmt::format("{}, found {} and {}", bound_.words(), e.source, e.destination));
        into.push_back(e);
        largest_ = std::max(largest_, std::max(e.source, e.destination));
        ++read_;
      }
      rest_ = rest_.subspan(count);
    }
  }

 private:
  std::string path_;
  std::unique_ptr<EdgeStream> stream_;
  std::span<const Edge> rest_;
  Bound bound_;
  std::int64_t read_ = 0;
};

class ShareOfFiles final : public EdgeFileShare {
 public:
  ShareOfFiles(std::vector<File> files, int rank, int ranks, Bound bound)
      : files_(std::move(files)),
        rank_(rank),
        ranks_(ranks),
        bound_(bound),
        edges_(files_.size()) {}

  void next(std::int64_t most, std::vector<Edge>& into) override {
    into.clear();
    while (file_ < files_.size() && static_cast<std::int64_t>(into.size()) < most) {
      if (!piece_) piece_ = piece_of(files_[file_]);
      const std::size_t before = into.size();
      if (piece_) {
        piece_->next(most, into);
        largest_ = std::max(largest_, piece_->largest());
      }
      edges_[file_] += static_cast<std::int64_t>(into.size() - before);
      if (static_cast<std::int64_t>(into.size()) < most) {
        piece_.reset();
        ++file_;
      }
    }
  }
  std::int64_t largest() const override { return largest_; }
  const std::vector<std::int64_t>& edges_by_file() const override { return edges_; }

 private:
  /// Null: another rank reads the file.
  std::unique_ptr<PieceOfFile> piece_of(const File& file) const {
    const auto range = [&](std::int64_t total) {  // as equal as possible
      const std::int64_t each = total / ranks_, more = total % ranks_;
      const std::int64_t first = rank_ * each + std::min<std::int64_t>(rank_, more);
      return std::pair{first, each + (rank_ < more ? 1 : 0)};
    };
    if (file.format == EdgeFormat::packed_text)
      return static_cast<int>(file_ % at(ranks_)) == rank_
                 ? std::make_unique<PackedLines>(file, bound_)
                 : nullptr;
    if (file.format == EdgeFormat::text) {
      const auto [first, count] = range(file.bytes);
      return std::make_unique<Lines>(file, first, first + count, bound_);
    }
    const auto [first, count] = range(file.edges);
    if (file.number_bytes == 4 && file.is_signed)
      return std::make_unique<Records<std::int32_t>>(file, first, count, bound_);
    if (file.number_bytes == 4)
      return std::make_unique<Records<std::uint32_t>>(file, first, count, bound_);
    if (file.is_signed) return std::make_unique<Records<std::int64_t>>(file, first, count, bound_);
    return std::make_unique<Records<std::uint64_t>>(file, first, count, bound_);
  }

  std::vector<File> files_;
  int rank_, ranks_;
  Bound bound_;
  std::vector<std::int64_t> edges_;
  std::size_t file_ = 0;
  std::unique_ptr<PieceOfFile> piece_;
  Vertex largest_ = -1;
};

EdgeFormat format_of(const fs::path& path, std::string_view start, const std::string& asked) {
  constexpr std::string_view kNumpy{"\x93NUMPY", 6}, kGzip{"\x1f\x8b", 2};
  const bool numpy = start.starts_with(kNumpy), packed = start.starts_with(kGzip);
  const auto refuse = [&](const char* found) {
    throw DataError(path.string(), "byte 0",
                    fmt::format("expected {} (dataset.edge_list.format), found {}", asked, found));
  };
  if (asked == "uint32" || asked == "uint64") {
    if (numpy) refuse("a NumPy array; set the format to npy");
    if (packed) refuse("gzip data; unpack it");
    return asked == "uint32" ? EdgeFormat::uint32 : EdgeFormat::uint64;
  }
  if (asked == "npy" || (asked == "auto" && numpy)) {
    if (packed) refuse("gzip data; unpack it");
    return EdgeFormat::npy;
  }
  if (packed) return EdgeFormat::packed_text;
  if (numpy) refuse("a NumPy array; set the format to npy");
  if (asked == "auto" && start.find('\0') != std::string_view::npos)
    throw ConfigError("dataset.edge_list.format",
                      fmt::format("{} is binary, and nothing in it tells the width of its "
                                  "numbers: set this to \"uint32\" or \"uint64\"",
                                  path.string()));
  return EdgeFormat::text;
}

void read_numpy_header(File& file) {
  const NpyHeader header = read_npy_header(file.path);
  const auto& type = header.dtype;
  if (type != "<i4" && type != "<u4" && type != "<i8" && type != "<u8")
    throw DataError(header.path, "",
                    fmt::format("expected int32, uint32, int64 or uint64 ('<i4', '<u4', '<i8', "
                                "'<u8'), found '{}'",
                                type));
  const auto& shape = header.shape;
  const bool rows = shape.size() == 2 && shape[1] == 2, planes = shape.size() == 2 && shape[0] == 2;
  if (!rows && !planes)
    throw DataError(header.path, "",
                    "expected an array of shape [E, 2] or [2, E], found another one");
  if (rows && planes)
    throw DataError(header.path, "",
                    "has shape [2, 2], which can be read in two ways: write these edges as text");
  file.is_signed = type[1] == 'i';
  file.number_bytes = static_cast<int>(header.element_bytes);
  file.data_offset = static_cast<std::int64_t>(header.data_offset);
  file.in_rows = rows;
  file.edges = header.elements / 2;
}

void count_records(File& file) {
  file.number_bytes = file.format == EdgeFormat::uint32 ? 4 : 8;
  const std::int64_t record = 2 * file.number_bytes;
  if (file.bytes % record != 0)
    throw DataError(file.path.string(), fmt::format("byte {}", file.bytes / record * record),
                    fmt::format("expected pairs of uint{} ({} bytes each), found {} extra bytes: "
                                "the file is cut short or has another format",
                                8 * file.number_bytes, record, file.bytes % record));
  file.edges = file.bytes / record;
}

}  // namespace

EdgeListFiles::EdgeListFiles(const EdgeListOptions& options) {
  std::int64_t bytes = 0;
  for (const std::string& name : options.files) {
    File file;
    file.path = name;
    const OpenedFile opened(file.path);
    std::error_code unknown;
    file.bytes = static_cast<std::int64_t>(fs::file_size(file.path, unknown));
    if (unknown)
      throw DataError(name, "", "has no size: expected a file, which can be read in ranges");
    std::string start(4096, '\0');
    start.resize(at(opened.read(0, start.data(), std::ssize(start))));
    file.format = format_of(file.path, start, options.format);
    if (file.format == EdgeFormat::npy) read_numpy_header(file);
    const bool records = file.format == EdgeFormat::uint32 || file.format == EdgeFormat::uint64;
    if (records) count_records(file);
    if (file.bytes == 0 || ((records || file.format == EdgeFormat::npy) && file.edges == 0))
      throw DataError(name, "", "expected edges, found none");
    bytes += file.bytes;
    files_.push_back(std::move(file));
  }
  stated_ = options.vertices.has_value();
  if (stated_ && (*options.vertices < 1 || *options.vertices > kMaxVertices))
    throw ConfigError("dataset.edge_list.vertices",
                      fmt::format("expected 1 to {}, found {}", kMaxVertices, *options.vertices));
  // Packed edges take at least a tenth.
  constexpr std::int64_t kBelowOverflow = 1 << 30;
  most_vertices_ = options.vertices.value_or(
      std::min(kMaxVertices, most_plausible(std::min(bytes, kBelowOverflow))));
}

std::unique_ptr<EdgeFileShare> EdgeListFiles::share(int rank, int ranks) const {
  return std::make_unique<ShareOfFiles>(files_, rank, ranks, Bound{most_vertices_, stated_});
}

void EdgeListFiles::require_edges(const std::vector<std::int64_t>& edges_by_file) const {
  for (std::size_t i = 0; i < files_.size(); ++i)
    if (edges_by_file[i] == 0)
      throw DataError(files_[i].path.string(), "", "expected edges, found none");
}

}  // namespace orrery
