#include "core/inference/held_rows.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/inference/input/rows_of_edges.hpp"
#include "core/model/adjacency.hpp"
#include "core/runtime/execute/memory.hpp"

namespace orrery {
namespace {

using Counts64 = std::vector<std::int64_t>;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

template <class T>
std::int64_t bytes_of(const std::vector<T>& values) {
  return static_cast<std::int64_t>(values.capacity() * sizeof(T));
}

/// Moves arrays of numbers between the ranks of a group, outside of any program; a rank alone keeps
/// its own.
class ArrayExchange {
 public:
  ArrayExchange(Communicator* communicator, const Group& group)
      : communicator_(communicator), group_(group) {
    ORRERY_ASSERT(communicator != nullptr || group.size == 1);
  }
  bool alone() const { return group_.size == 1; }

  /// Rows of `width` numbers, send[j] to group index j, in order; adds those that came to `y`.
  void all_to_all(const std::vector<Vertex>& x, std::int64_t width, const Counts64& send,
                  const Counts64& receive, std::vector<Vertex>& y) {
    const Room from(*this, 0, x, sum(send), width);
    const Room into(*this, 1, sum(receive), width);
    run(AllToAllV{from.tensor, into.tensor, share(send), share(receive), group_});
    const std::span<const Vertex> came = into.values();
    y.insert(y.end(), came.begin(), came.end());
  }

  /// One number for each rank, [size] -> [size], and whether any rank has more to send.
  std::pair<Counts64, bool> all_to_all_counts(const Counts64& counts, bool more) {
    if (alone()) return {counts, more};
    std::vector<Vertex> numbers;
    for (const std::int64_t count : counts)
      numbers.insert(numbers.end(), {static_cast<Vertex>(count), more ? 1 : 0});
    const Counts64 one(counts.size(), 1);
    std::vector<Vertex> came;
    all_to_all(numbers, 2, one, one, came);
    Counts64 theirs;
    for (std::size_t i = 0; i < came.size(); i += 2) {
      theirs.push_back(came[i]);
      more = more || came[i + 1] != 0;
    }
    return {theirs, more};
  }

  /// The arrays of all ranks, one after the other; x is freed before they come.
  std::vector<Vertex> all_gather(std::vector<Vertex> x) {
    if (alone()) return x;
    // Lengths as two halves: a rank may have more numbers than one half counts.
    const std::int64_t mine = static_cast<std::int64_t>(x.size());
    const auto lengths =
        gather({static_cast<Vertex>(mine >> 31), static_cast<Vertex>(mine & 0x7FFFFFFF)},
               Counts64(at(group_.size), 2));
    Counts64 rows;
    for (std::size_t i = 0; i < lengths.size(); i += 2)
      rows.push_back((std::int64_t{lengths[i]} << 31) + lengths[i + 1]);
    return gather(std::move(x), rows);
  }

 private:
  /// A tensor with its own memory.
  struct Room {
    Room(ArrayExchange& owner, std::uint32_t id, std::int64_t rows, std::int64_t width)
        : memory(owner.memory_), tensor{id, {rows, width}, DType::i32, Space::device, 0, width} {
      memory.allocate(id, tensor.bytes());
    }
    Room(ArrayExchange& owner, std::uint32_t id, const std::vector<Vertex>& x, std::int64_t rows,
         std::int64_t width)
        : Room(owner, id, rows, width) {
      ORRERY_ASSERT(static_cast<std::int64_t>(x.size()) == rows * width);
      std::copy(x.begin(), x.end(), memory.data<Vertex>(tensor));
    }
    ~Room() { memory.free(tensor.id); }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    std::span<const Vertex> values() const {
      return {memory.data<Vertex>(tensor), at(tensor.shape.size())};
    }
    RankMemory& memory;
    Tensor tensor;
  };
  static std::int64_t sum(const Counts64& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  }
  static std::shared_ptr<const Counts64> share(const Counts64& counts) {
    return std::make_shared<const Counts64>(counts);
  }
  std::vector<Vertex> gather(std::vector<Vertex> x, const Counts64& rows) {
    const Room from(*this, 0, x, static_cast<std::int64_t>(x.size()), 1);
    std::vector<Vertex>().swap(x);  // an assignment would keep its memory
    const Room into(*this, 1, sum(rows), 1);
    run(AllGather{from.tensor, into.tensor, share(rows), group_});
    const std::span<const Vertex> all = into.values();
    return {all.begin(), all.end()};
  }
  void run(const Op& op) {
    validate(op);
    communicator_->run(Lane::comm, op, memory_);
  }

  Communicator* communicator_;
  Group group_;
  RankMemory memory_;
};

/// A number for each ordered pair of vertices, without a pattern.
std::uint64_t number_of(Vertex u, Vertex v) {
  std::uint64_t x = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(u)) << 32U) |
                    static_cast<std::uint32_t>(v);
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;  // splitmix64
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

/// use(source, destination) for all edges that belong to the graph.
template <class Use>
void each_edge(const std::vector<Edge>& edges, bool mirrored, const Use& use) {
  for (const Edge& e : edges) {
    if (e.source == e.destination) continue;
    use(e.source, e.destination);
    if (mirrored) use(e.destination, e.source);
  }
}

/// Edges by the part of their destination: who gets what.
class Buckets {
 public:
  Buckets(const std::vector<Edge>& edges, bool mirrored, const TileLayout& layout)
      : counts(at(layout.row_parts), 0) {
    std::vector<int> parts;  // of each visit: divisions take time
    parts.reserve(edges.size() * (mirrored ? 2 : 1));
    each_edge(edges, mirrored, [&](Vertex, Vertex to) {
      parts.push_back(layout.part_of_vertex(to));
      ++counts[at(parts.back())];
    });
    Counts64 next(counts.size(), 0), first;
    std::exclusive_scan(counts.begin(), counts.end(), next.begin(), std::int64_t{0});
    for (int part = 0; part < layout.row_parts; ++part) first.push_back(layout.rows(part).first);
    pairs.resize(2 * parts.size());
    auto part = parts.begin();
    each_edge(edges, mirrored, [&](Vertex from, Vertex to) {
      const std::size_t place = 2 * at(next[at(*part)]++);
      pairs[place] = static_cast<Vertex>(to - first[at(*part)]);
      pairs[place + 1] = from;
      ++part;
    });
  }
  Counts64 counts;            ///< edges, by part
  std::vector<Vertex> pairs;  ///< row in the part, column
};

/// The graph is one part: adds all edges to `pairs`.
void take_all(const std::vector<Edge>& edges, bool mirrored, std::vector<Vertex>& pairs) {
  std::size_t place = pairs.size();
  pairs.resize(place + edges.size() * (mirrored ? 4 : 2));
  each_edge(edges, mirrored, [&](Vertex from, Vertex to) {
    pairs[place++] = to;
    pairs[place++] = from;
  });
  pairs.resize(place);
}

/// A range of a list of edges.
class RangeOfSource final : public EdgeShare {
 public:
  RangeOfSource(EdgeSource& source, const Share& range)
      : source_(source), next_(range.first), end_(range.end()) {}
  void next(std::int64_t most, std::vector<Edge>& into) override {
    const std::int64_t count = std::min(most, end_ - next_);
    source_.read(next_, count, into);
    next_ += count;
  }

 private:
  EdgeSource& source_;
  std::int64_t next_, end_;
};

}  // namespace

HeldRows all_rows(const Csr& graph, bool symmetric) {
  return {graph.rows,
          {0, graph.rows},
          std::make_shared<const Csr>(without_self_loops(graph)),
          {},
          symmetric};
}

NpyEdges::NpyEdges(const std::filesystem::path& file, std::int64_t vertices)
    : sources_(file), destinations_(file), vertices_(vertices) {
  sources_.header().require(npy_dtype<std::int32_t>(), {2, -1});
  size_ = sources_.header().shape[1];
}

void NpyEdges::read(std::int64_t first, std::int64_t count, std::vector<Edge>& into) {
  const auto from = sources_.elements<std::int32_t>(first, count),
             to = destinations_.elements<std::int32_t>(size_ + first, count);
  into.resize(at(count));
  for (std::size_t i = 0; i < at(count); ++i) {
    for (const Vertex v : {from[i], to[i]})
      if (v < 0 || v >= vertices_)
        throw DataError(sources_.header().path,
                        fmt::format("edge {}", first + static_cast<std::int64_t>(i)),
                        fmt::format("expected vertices from 0 to {}, found {}", vertices_ - 1, v));
    into[i] = {from[i], to[i]};
  }
}

HeldRows build_rows(EdgeShare& edges, bool mirrored, const TileLayout& layout, int rank,
                    Communicator* communicator, std::int64_t chunk, RowsCost* cost) {
  HeldRows made{layout.vertices, layout.rows(layout.part_of(rank)), nullptr, {}, false};
  const auto begin = Clock::now();
  RowsCost took;
  const auto hold = [&](std::int64_t bytes) { took.peak_bytes = std::max(took.peak_bytes, bytes); };

  // The ranks of the same columns hold all rows between them: each edge goes to one of these ranks,
  // and from there to the others of its part.
  ArrayExchange columns(communicator, layout.column_group(rank)),
      part(communicator, layout.row_group(rank));
  std::vector<Vertex> pairs;
  {
    std::vector<Edge> piece;
    for (bool more = true; more;) {
      const auto reading = Clock::now();
      edges.next(chunk, piece);
      took.read_seconds += seconds_since(reading);
      if (columns.alone()) {
        more = !piece.empty();
        take_all(piece, mirrored, pairs);
        hold(bytes_of(pairs) + bytes_of(piece));
        continue;
      }
      const Buckets out(piece, mirrored, layout);
      const auto [in, others] = columns.all_to_all_counts(out.counts, !piece.empty());
      more = others;
      const std::int64_t before = std::ssize(pairs);
      columns.all_to_all(out.pairs, 2, out.counts, in, pairs);
      // Outgoing pairs are held twice: in an array, and in the memory that the communicator reads.
      const std::int64_t came = std::ssize(pairs) - before;
      hold(bytes_of(pairs) + bytes_of(piece) + 2 * bytes_of(out.pairs) +
           came * static_cast<std::int64_t>(sizeof(Vertex)));
    }
  }
  if (!part.alone()) {
    const std::int64_t mine = bytes_of(pairs);
    pairs = part.all_gather(std::move(pairs));
    hold(mine + 2 * bytes_of(pairs));
  }
  const std::int64_t edges_here = std::ssize(pairs) / 2;
  hold(bytes_of(pairs) + 8 * edges_here);
  auto csr =
      std::make_shared<const Csr>(sorted_rows(std::move(pairs), made.rows.count, layout.vertices));
  hold(8 * edges_here + bytes_of(csr->columns) + bytes_of(csr->offsets));

  std::vector<Vertex> degrees;
  std::uint64_t sum = 0;  // of all edges minus their reverses: 0 if each has its own
  for (std::int64_t r = 0; r < csr->rows; ++r) {
    degrees.push_back(static_cast<Vertex>(csr->degree(r)));
    const auto v = static_cast<Vertex>(made.rows.first + r);
    if (mirrored) continue;  // they have by the way they were made
    for (const Vertex u : csr->row(r)) sum += number_of(u, v) - number_of(v, u);
  }
  made.csr = std::move(csr);
  if (!columns.alone()) made.degrees = columns.all_gather(std::move(degrees));
  hold(bytes_of(made.csr->columns) + bytes_of(made.csr->offsets) + 2 * bytes_of(made.degrees));
  std::vector<Vertex> halves(2);
  std::memcpy(halves.data(), &sum, sizeof sum);
  const auto sums = columns.all_gather(halves);
  std::uint64_t whole = 0;
  for (std::size_t i = 0; i < sums.size(); i += 2) {
    std::memcpy(&sum, sums.data() + i, sizeof sum);
    whole += sum;
  }
  made.symmetric = whole == 0;
  took.build_seconds = seconds_since(begin) - took.read_seconds;
  if (cost != nullptr) *cost = took;
  return made;
}

HeldRows build_rows(EdgeSource& edges, bool mirrored, const TileLayout& layout, int rank,
                    Communicator& communicator, std::int64_t chunk, RowsCost* cost) {
  RangeOfSource range(edges, share_of(edges.size(), layout.ranks(), rank));
  return build_rows(range, mirrored, layout, rank, &communicator, chunk, cost);
}

}  // namespace orrery
