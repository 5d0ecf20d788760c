#include "core/inference/held_rows.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/inference/input/rows_of_edges.hpp"
#include "core/model/adjacency.hpp"
#include "core/runtime/execute/memory.hpp"

namespace orrery {
namespace {

using Counts64 = std::vector<std::int64_t>;

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kRowsAtOnce = 1 << 12;

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

  /// Rows of `width` numbers, send[j] to group index j, in order. write(room) writes them, use(came)
  /// gets those that came.
  template <class Write, class Use>
  void all_to_all(std::int64_t width, const Counts64& send, const Counts64& receive,
                  const Write& write, const Use& use) {
    const Tensor from = room(0, sum(send), width);
    write(values(from));
    if (alone()) return use(std::span<const Vertex>(values(from)));
    const Tensor into = room(1, sum(receive), width);
    run(AllToAllV{from, into, share(send), share(receive), group_});
    use(std::span<const Vertex>(values(into)));
  }

  /// One number for each rank, [size] -> [size], and whether any rank has more to send.
  std::pair<Counts64, bool> all_to_all_counts(const Counts64& counts, bool more) {
    if (alone()) return {counts, more};
    const Counts64 one(counts.size(), 1);
    Counts64 theirs;
    all_to_all(
        2, one, one,
        [&](std::span<Vertex> numbers) {
          for (std::size_t i = 0; i < counts.size(); ++i) {
            numbers[2 * i] = static_cast<Vertex>(counts[i]);
            numbers[2 * i + 1] = more ? 1 : 0;
          }
        },
        [&](std::span<const Vertex> came) {
          for (std::size_t i = 0; i < came.size(); i += 2) {
            theirs.push_back(came[i]);
            more = more || came[i + 1] != 0;
          }
        });
    return {theirs, more};
  }

  /// The same from every rank to all: their arrays, one after the other.
  std::vector<Vertex> all_gather(std::vector<Vertex> x) {
    if (alone()) return x;
    const Counts64 lengths = all_gather_lengths(std::ssize(x), false).first;
    std::vector<Vertex> all;
    gather(x, lengths, [&](std::span<const Vertex> came) { all.assign(came.begin(), came.end()); });
    return all;
  }
  /// The pairs of all ranks, at most `most` of a rank at a time, and whether any rank has more.
  template <class Use>
  bool all_gather_pairs(std::span<const Vertex> pairs, std::int64_t most, bool more,
                        const Use& use) {
    auto [left, others] = all_gather_lengths(std::ssize(pairs) / 2, more);
    while (std::ranges::any_of(left, [](std::int64_t length) { return length > 0; })) {
      Counts64 now;
      for (std::int64_t& length : left) {
        now.push_back(2 * std::min(length, most));
        length -= now.back() / 2;
      }
      const auto mine = at(std::min(std::ssize(pairs), 2 * most));
      gather(pairs.first(mine), now, use);
      pairs = pairs.subspan(mine);
    }
    return others;
  }

  /// The memory that communicators read and write.
  std::int64_t bytes() const { return bytes_[0] + bytes_[1]; }
  void give_back() {
    for (const std::uint32_t id : {0U, 1U})
      if (std::exchange(bytes_[id], 0) > 0) memory_.free(id);
  }

 private:
  /// A tensor in memory that is kept for the next one.
  Tensor room(std::uint32_t id, std::int64_t rows, std::int64_t width) {
    const Tensor tensor{id, {rows, width}, DType::i32, Space::device, 0, width};
    const std::int64_t needed = std::max(tensor.bytes(), kSmallestRoom);
    if (needed > bytes_[id]) {
      if (std::exchange(bytes_[id], 0) > 0) memory_.free(id);
      memory_.allocate(id, needed);
      bytes_[id] = needed;
    }
    return tensor;
  }
  std::span<Vertex> values(const Tensor& tensor) const {
    return {memory_.data<Vertex>(tensor), at(tensor.shape.size())};
  }
  static std::int64_t sum(const Counts64& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  }
  static std::shared_ptr<const Counts64> share(const Counts64& counts) {
    return std::make_shared<const Counts64>(counts);
  }
  /// The length of every rank's array, and whether any rank has more.
  std::pair<Counts64, bool> all_gather_lengths(std::int64_t mine, bool more) {
    // As two halves: a rank may have more numbers than one half counts.
    const std::array<Vertex, 3> words{static_cast<Vertex>(mine >> 31),
                                      static_cast<Vertex>(mine & 0x7FFFFFFF), more ? 1 : 0};
    Counts64 lengths;
    gather(words, Counts64(at(group_.size), 3), [&](std::span<const Vertex> came) {
      for (std::size_t i = 0; i < came.size(); i += 3) {
        lengths.push_back((std::int64_t{came[i]} << 31) + came[i + 1]);
        more = more || came[i + 2] != 0;
      }
    });
    return {lengths, more};
  }
  template <class Use>
  void gather(std::span<const Vertex> x, const Counts64& lengths, const Use& use) {
    const Tensor from = room(0, std::ssize(x), 1), into = room(1, sum(lengths), 1);
    std::ranges::copy(x, values(from).begin());
    run(AllGather{from, into, share(lengths), group_});
    use(std::span<const Vertex>(values(into)));
  }
  void run(const Op& op) {
    validate(op);
    communicator_->run(Lane::comm, op, memory_);
  }

  static constexpr std::int64_t kSmallestRoom = 64;
  Communicator* communicator_;
  Group group_;
  RankMemory memory_;
  std::array<std::int64_t, 2> bytes_{};
};

/// A number for each edge without a pattern; that of the reverse has the other sign.
std::uint64_t number_of(Vertex u, Vertex v) {
  std::uint64_t x =
      (static_cast<std::uint64_t>(static_cast<std::uint32_t>(std::min(u, v))) << 32U) |
      static_cast<std::uint32_t>(std::max(u, v));
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;  // splitmix64
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  x ^= x >> 31U;
  return u < v ? x : 0 - x;
}

/// The sum of the numbers of all edges: 0 if each has its reverse.
std::uint64_t sum_of_numbers(const Csr& rows, std::int64_t first_row) {
  std::atomic<std::uint64_t> sum{0};
  parallel_for(rows.rows, kRowsAtOnce, [&](std::int64_t begin, std::int64_t end) {
    std::uint64_t some = 0;
    for (std::int64_t r = begin; r < end; ++r)
      for (const Vertex u : rows.row(r)) some += number_of(u, static_cast<Vertex>(first_row + r));
    sum.fetch_add(some, std::memory_order_relaxed);
  });
  return sum;
}

/// The part of any vertex. It is looked up where its neighbourhood of vertices begins, because divisions
/// take longer than all else that is done with an edge.
class PartsOfVertices {
 public:
  explicit PartsOfVertices(const TileLayout& layout) {
    while ((layout.vertices >> shift_) > kNeighbourhoods) ++shift_;
    for (int part = 0; part < layout.row_parts; ++part) {
      first_.push_back(static_cast<Vertex>(layout.rows(part).first));
      end_.push_back(layout.rows(part).end());
    }
    for (std::int64_t v = 0; v < layout.vertices; v += std::int64_t{1} << shift_)
      part_at_.push_back(layout.part_of_vertex(v));
  }
  int of(Vertex v) const {
    int part = part_at_[at(v >> shift_)];
    while (v >= end_[at(part)]) ++part;
    return part;
  }
  Vertex first(int part) const { return first_[at(part)]; }

 private:
  static constexpr std::int64_t kNeighbourhoods = 1 << 12;
  int shift_ = 0;
  std::vector<int> part_at_;
  std::vector<Vertex> first_;
  std::vector<std::int64_t> end_;
};

/// Edges by the part of their destination: who gets what.
class Buckets {
 public:
  Buckets(const std::vector<Edge>& edges, bool mirrored, const PartsOfVertices& parts, int count)
      : edges_(edges), mirrored_(mirrored), parts_(parts), counts_(at(count), 0) {
    each_edge(edges_, mirrored_, [&](Vertex, Vertex to) { ++counts_[at(parts_.of(to))]; });
  }
  const Counts64& counts() const { return counts_; }  ///< edges, by part
  /// pairs ← row in the part and column of each edge, by part.
  void write(std::span<Vertex> pairs) const {
    Counts64 next(counts_.size(), 0);
    std::exclusive_scan(counts_.begin(), counts_.end(), next.begin(), std::int64_t{0});
    each_edge(edges_, mirrored_, [&](Vertex from, Vertex to) {
      const int part = parts_.of(to);
      const std::size_t place = 2 * at(next[at(part)]++);
      pairs[place] = to - parts_.first(part);
      pairs[place + 1] = from;
    });
  }

 private:
  const std::vector<Edge>& edges_;
  bool mirrored_;
  const PartsOfVertices& parts_;
  Counts64 counts_;
};

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
  // and from there to the others of its part. No rank holds more of what travels than a piece.
  ArrayExchange columns(communicator, layout.column_group(rank)),
      part(communicator, layout.row_group(rank));
  RowsOfEdges rows(made.rows.count, layout.vertices);
  {
    const PartsOfVertices parts(layout);
    std::vector<Edge> piece;
    const auto keep = [&](std::span<const Vertex> pairs) { rows.add(pairs); };
    for (bool more = true; more;) {
      const auto reading = Clock::now();
      edges.next(chunk, piece);
      took.read_seconds += seconds_since(reading);
      more = !piece.empty();
      if (columns.alone() && part.alone()) {
        rows.add(piece, mirrored);
        hold(rows.bytes() + bytes_of(piece));
        continue;
      }
      const Buckets out(piece, mirrored, parts, layout.row_parts);
      const auto [in, others] = columns.all_to_all_counts(out.counts(), more);
      more = others;
      columns.all_to_all(
          2, out.counts(), in, [&](std::span<Vertex> pairs) { out.write(pairs); },
          [&](std::span<const Vertex> pairs) {
            if (part.alone())
              rows.add(pairs);
            else
              more = part.all_gather_pairs(
                  pairs, std::max<std::int64_t>(1, chunk / layout.column_parts), more, keep);
          });
      hold(rows.bytes() + bytes_of(piece) + columns.bytes() + part.bytes());
    }
    columns.give_back();
    part.give_back();
  }
  auto csr = std::make_shared<const Csr>(rows.take());
  hold(rows.peak_bytes());

  std::vector<Vertex> degrees;
  // Those that were mirrored have their reverses by the way they were made.
  std::uint64_t sum = mirrored ? 0 : sum_of_numbers(*csr, made.rows.first);
  if (!columns.alone())
    for (std::int64_t r = 0; r < csr->rows; ++r)
      degrees.push_back(static_cast<Vertex>(csr->degree(r)));
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
