#include "core/graph/csr.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"

namespace orrery {
namespace {

/// Rows of a block of a parallel loop.
constexpr std::int64_t kMergedRows = 1 << 12;

constexpr std::int64_t kEdgeBlock = 1 << 18;
// number of scatter targets that caches and TLB can follow
constexpr std::int64_t kMaxBuckets = 512;
constexpr std::int64_t kEdgesPerBucket = 1 << 14;  // below this, a bucket is not worth its overhead

/// Rows are distributed to buckets of 2^shift consecutive rows, so that one bucket is sorted in
/// cache.
struct Buckets {
  int shift = 0;
  std::int64_t count = 1;

  Buckets(std::int64_t rows, std::int64_t edges) {
    const std::int64_t wanted = std::clamp<std::int64_t>(edges / kEdgesPerBucket, 1, kMaxBuckets);
    while (((rows - 1) >> shift) + 1 > wanted) ++shift;
    count = rows == 0 ? 1 : ((rows - 1) >> shift) + 1;
  }
  std::int64_t of(Vertex row) const { return row >> shift; }
  std::int64_t first_row(std::int64_t bucket) const { return bucket << shift; }
};

std::uint64_t pack(Vertex row, Vertex column) {
  return (static_cast<std::uint64_t>(row) << 32U) | static_cast<std::uint32_t>(column);
}
Vertex row_of(std::uint64_t entry) { return static_cast<Vertex>(entry >> 32U); }
Vertex column_of(std::uint64_t entry) { return static_cast<Vertex>(entry & 0xFFFFFFFFU); }

/// Entries grouped by bucket; within a bucket they keep the order of the input.
struct Bucketed {
  std::unique_ptr<std::uint64_t[]> entries;
  std::vector<EdgeIndex> start;  ///< [buckets + 1]
};

/// `visit(begin, end, f)` calls f(row, column) for entries begin..end-1 in order.
template <class Visit>
Bucketed scatter_to_buckets(const Csr& shape, std::int64_t edges, const Buckets& buckets,
                            const Visit& visit) {
  const std::int64_t blocks = (edges + kEdgeBlock - 1) / kEdgeBlock;
  std::vector<EdgeIndex> position(at(blocks * buckets.count));
  parallel_for(edges, kEdgeBlock, [&](std::int64_t begin, std::int64_t end) {
    EdgeIndex* mine = position.data() + (begin / kEdgeBlock) * buckets.count;
    bool inside = true;
    visit(begin, end, [&](Vertex row, Vertex column) {
      inside &= row >= 0 && row < shape.rows && column >= 0 && column < shape.cols;
      if (inside) ++mine[buckets.of(row)];
    });
    ORRERY_ASSERT(inside);
  });

  Bucketed out;
  EdgeIndex total = 0;
  for (std::int64_t bucket = 0; bucket < buckets.count; ++bucket) {
    out.start.push_back(total);
    for (std::int64_t block = 0; block < blocks; ++block)
      total += std::exchange(position[at(block * buckets.count + bucket)], total);
  }
  out.start.push_back(total);

  out.entries = std::make_unique_for_overwrite<std::uint64_t[]>(at(edges));
  parallel_for(edges, kEdgeBlock, [&](std::int64_t begin, std::int64_t end) {
    EdgeIndex* mine = position.data() + (begin / kEdgeBlock) * buckets.count;
    visit(begin, end, [&](Vertex row, Vertex column) {
      out.entries[at(mine[buckets.of(row)]++)] = pack(row, column);
    });
  });
  return out;
}

/// Sorts one bucket by row and column into `columns`, without duplicates, leaves the length of row
/// r in length[r - first_row], and returns the number of remaining entries.
EdgeIndex sort_bucket(const std::uint64_t* entries, EdgeIndex size, std::int64_t first_row,
                      std::int64_t rows, EdgeIndex* length, Vertex* columns) {
  std::fill_n(length, rows, 0);
  for (EdgeIndex i = 0; i < size; ++i) ++length[row_of(entries[i]) - first_row];
  std::vector<EdgeIndex> next(at(rows) + 1);
  std::partial_sum(length, length + rows, next.begin() + 1);
  auto sorted = std::make_unique_for_overwrite<Vertex[]>(at(size));
  for (EdgeIndex i = 0; i < size; ++i)
    sorted[at(next[at(row_of(entries[i]) - first_row)]++)] = column_of(entries[i]);

  Vertex* out = columns;
  Vertex* begin = sorted.get();
  for (std::int64_t r = 0; r < rows; ++r) {
    Vertex* end = begin + length[r];
    if (!std::is_sorted(begin, end)) std::sort(begin, end);
    Vertex* kept = std::unique_copy(begin, end, out);
    length[r] = kept - out;
    out = kept;
    begin = end;
  }
  return out - columns;
}

template <class Visit>
Csr build(std::int64_t rows, std::int64_t cols, std::int64_t edges, const Visit& visit) {
  Csr csr;
  csr.rows = rows;
  csr.cols = cols;
  csr.offsets.assign(at(rows) + 1, 0);
  const Buckets buckets(rows, edges);
  Bucketed bucketed = scatter_to_buckets(csr, edges, buckets, visit);

  csr.columns.resize(at(edges));
  std::vector<EdgeIndex> kept(at(buckets.count));
  const auto rows_in = [&](std::int64_t b) {
    return std::min(rows, buckets.first_row(b + 1)) - buckets.first_row(b);
  };
  parallel_for(buckets.count, 1, [&](std::int64_t b, std::int64_t) {
    const EdgeIndex begin = bucketed.start[at(b)];
    kept[at(b)] = sort_bucket(
        bucketed.entries.get() + begin, bucketed.start[at(b) + 1] - begin, buckets.first_row(b),
        rows_in(b), csr.offsets.data() + 1 + buckets.first_row(b), csr.columns.data() + begin);
  });
  bucketed.entries.reset();

  EdgeIndex total = 0;  // close the gaps that merged duplicates left between buckets
  for (std::int64_t b = 0; b < buckets.count; ++b) {
    const auto from = csr.columns.begin() + bucketed.start[at(b)];
    if (bucketed.start[at(b)] != total)
      std::copy(from, from + kept[at(b)], csr.columns.begin() + total);
    total += kept[at(b)];
  }
  csr.columns.resize(at(total));
  std::partial_sum(csr.offsets.begin(), csr.offsets.end(), csr.offsets.begin());
  return csr;
}

/// Number of elements that two ascending rows share.
EdgeIndex count_common(std::span<const Vertex> x, std::span<const Vertex> y) {
  EdgeIndex common = 0;
  for (auto i = x.begin(), j = y.begin(); i != x.end() && j != y.end();) {
    const bool advance_x = *i <= *j, advance_y = *j <= *i;
    common += advance_x && advance_y;
    i += advance_x;
    j += advance_y;
  }
  return common;
}

}  // namespace

Csr build_csr(std::int64_t vertices, std::span<const Vertex> source,
              std::span<const Vertex> destination) {
  ORRERY_ASSERT(source.size() == destination.size());
  return build(vertices, vertices, static_cast<std::int64_t>(source.size()),
               [&](std::int64_t begin, std::int64_t end, auto&& f) {
                 for (std::int64_t i = begin; i < end; ++i) f(destination[at(i)], source[at(i)]);
               });
}

Csr build_csr(const EdgeList& edges) {
  return build_csr(edges.vertices, edges.source, edges.destination);
}

Csr transpose(const Csr& a) {
  return build(a.cols, a.rows, a.nnz(), [&](std::int64_t begin, std::int64_t end, auto&& f) {
    auto next = std::upper_bound(a.offsets.begin(), a.offsets.end(), begin);
    for (std::int64_t i = begin; i < end; ++i) {
      while (*next <= i) ++next;
      f(a.columns[at(i)], static_cast<Vertex>(next - a.offsets.begin() - 1));
    }
  });
}

Csr merge(const Csr& a, const Csr& b) {
  ORRERY_ASSERT(a.rows == b.rows && a.cols == b.cols);
  Csr both;
  both.rows = a.rows;
  both.cols = a.cols;
  both.offsets.assign(at(a.rows) + 1, 0);
  parallel_for(a.rows, kMergedRows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v)
      both.offsets[at(v) + 1] = a.degree(v) + b.degree(v) - count_common(a.row(v), b.row(v));
  });
  std::partial_sum(both.offsets.begin(), both.offsets.end(), both.offsets.begin());
  both.columns.resize(at(both.offsets.back()));
  parallel_for(a.rows, kMergedRows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v)
      std::ranges::set_union(a.row(v), b.row(v), both.columns.begin() + both.offsets[at(v)]);
  });
  return both;
}

Csr symmetrise(const Csr& a) {
  ORRERY_ASSERT(a.rows == a.cols);
  return merge(a, transpose(a));
}

bool is_symmetric(const Csr& a) { return a.rows == a.cols && transpose(a) == a; }

}  // namespace orrery
