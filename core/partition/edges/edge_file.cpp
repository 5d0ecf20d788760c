#include "core/partition/edges/edge_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/base/error.hpp"
#include "core/graph/files/npy_header.hpp"
#include "core/graph/plausible.hpp"
#include "core/partition/edges/edge_text.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

static_assert(sizeof(Edge) == 8 && std::endian::native == std::endian::little,
              "binary edge files have a fixed form");

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

File opened(const fs::path& path, const char* mode) {
  File file(fs::is_directory(path) ? nullptr : std::fopen(path.c_str(), mode));
  if (!file)
    throw DataError(path.string(), "",
                    fmt::format("cannot be opened: {}",
                                fs::is_directory(path) ? "is a folder" : std::strerror(errno)));
  std::setvbuf(file.get(), nullptr, _IONBF, 0);  // blocks are large already
  return file;
}

/// Reads `bytes` at `offset`, or fewer at the end of the file.
std::size_t read_at(std::FILE* file, const std::string& path, std::int64_t offset, void* out,
                    std::size_t bytes) {
  if (std::fseek(file, static_cast<long>(offset), SEEK_SET) != 0)
    throw DataError(path, fmt::format("byte {}", offset), "cannot be reached");
  const std::size_t got = std::fread(out, 1, bytes, file);
  if (got < bytes && std::ferror(file) != 0)
    throw DataError(path, fmt::format("byte {}", offset),
                    fmt::format("cannot be read: {}", std::strerror(errno)));
  return got;
}

/// `most`: largest number of vertices that a file of that size may claim.
void require_vertices(std::span<const Edge> edges, const std::string& path, std::int64_t first,
                      std::int64_t most) {
  std::uint32_t largest = 0;  // negative numbers and 2^31 - 1 are above all vertices
  for (const auto& [u, v] : edges)
    largest = std::max({largest, static_cast<std::uint32_t>(u), static_cast<std::uint32_t>(v)});
  if (largest < static_cast<std::uint32_t>(most)) return;
  const auto bad = [&](Vertex v) { return v < 0 || v >= most; };
  for (std::size_t i = 0; i < edges.size(); ++i)
    if (bad(edges[i].source) || bad(edges[i].destination))
      throw DataError(path, fmt::format("edge {}", first + static_cast<std::int64_t>(i)),
                      fmt::format("expected vertex numbers from 0 to {}{}, found {} and {}",
                                  most - 1, most < kMaxVertices ? kOfItsSize : "",
                                  static_cast<std::uint32_t>(edges[i].source),
                                  static_cast<std::uint32_t>(edges[i].destination)));
}

/// A known number of edges, read block by block from their places.
class StoredEdges : public EdgeStream {
 public:
  explicit StoredEdges(const fs::path& path)
      : path_(path.string()),
        file_(opened(path, "rb")),
        most_(most_vertices(path)),
        block_(kStreamBlock) {}
  void rewind() override { next_ = 0; }
  std::span<const Edge> next() override {
    const auto count = static_cast<std::size_t>(
        std::min<std::int64_t>(edges_ - next_, static_cast<std::int64_t>(kStreamBlock)));
    if (count == 0) return {};
    const std::span<Edge> edges(block_.data(), count);
    fill(edges, next_);
    require_vertices(edges, path_, next_, most_);
    next_ += static_cast<std::int64_t>(count);
    return edges;
  }

 protected:
  /// Reads the edges from `first` on.
  virtual void fill(std::span<Edge> edges, std::int64_t first) = 0;
  /// Reads all of `bytes` at `offset`.
  void read(std::int64_t offset, void* out, std::size_t bytes) const {
    if (read_at(file_.get(), path_, offset, out, bytes) != bytes)
      throw DataError(path_, fmt::format("edge {}", next_), "is missing: the file became shorter");
  }
  std::string path_;
  std::int64_t edges_ = 0;

 private:
  File file_;
  std::int64_t most_;
  std::int64_t next_ = 0;
  std::vector<Edge> block_;
};

class BinaryEdges final : public StoredEdges {
 public:
  explicit BinaryEdges(const fs::path& path) : StoredEdges(path) {
    const auto bytes = static_cast<std::int64_t>(fs::file_size(path));
    if (bytes % 8 != 0)
      throw DataError(path_, fmt::format("byte {}", bytes / 8 * 8),
                      fmt::format("expected pairs of int32 (8 bytes each), found {} extra bytes: "
                                  "the file is cut short or has another format",
                                  bytes % 8));
    edges_ = bytes / 8;
  }

 private:
  void fill(std::span<Edge> edges, std::int64_t first) override {
    read(8 * first, edges.data(), edges.size_bytes());
  }
};

/// Sources and destinations stand in two rows; both are read at the same pace.
class NpyEdges final : public StoredEdges {
 public:
  explicit NpyEdges(const fs::path& path) : StoredEdges(path), ends_(2 * kStreamBlock) {
    const NpyHeader header = read_npy_header(path);
    header.require(npy_dtype<std::int32_t>(), {2, -1});
    data_ = static_cast<std::int64_t>(header.data_offset);
    edges_ = header.shape[1];
  }

 private:
  void fill(std::span<Edge> edges, std::int64_t first) override {
    const std::size_t count = edges.size();
    read(data_ + 4 * first, ends_.data(), 4 * count);
    read(data_ + 4 * (edges_ + first), ends_.data() + count, 4 * count);
    for (std::size_t i = 0; i < count; ++i) edges[i] = {ends_[i], ends_[count + i]};
  }

  std::int64_t data_ = 0;
  std::vector<Vertex> ends_;
};

bool is_binary(const fs::path& file) {
  return file.extension() == ".bin" || file.extension() == ".edges";
}

}  // namespace

bool is_edge_file(const fs::path& file) { return is_binary(file) || file.extension() == ".npy"; }

std::unique_ptr<EdgeStream> open_edge_file(const fs::path& file) {
  // A pipe would be waited for, and can be read but once.
  if (fs::exists(file) && !fs::is_regular_file(file) && !fs::is_directory(file))
    throw DataError(file.string(), "", "expected a regular file, found a pipe or device");
  if (is_binary(file)) return std::make_unique<BinaryEdges>(file);
  if (file.extension() == ".npy") return std::make_unique<NpyEdges>(file);
  return open_edge_text(file);
}

void write_edge_file(EdgeStream& stream, const fs::path& path) {
  File file = opened(path, "wb");
  bool good = true;
  stream.rewind();
  for (auto block = stream.next(); good && !block.empty(); block = stream.next())
    good = std::fwrite(block.data(), sizeof(Edge), block.size(), file.get()) == block.size();
  if (std::fclose(file.release()) != 0 || !good)
    throw DataError(path.string(), "", fmt::format("cannot be written: {}", std::strerror(errno)));
}

}  // namespace orrery
