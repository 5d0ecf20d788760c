#include "core/partition/parts/sorted_rows.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/partition/parts/pair_hash.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

/// Bytes of entries that are sorted in memory at once.
constexpr std::int64_t kBucketBytes = 1 << 24;
constexpr std::int64_t kMostBuckets = 1 << 13;  ///< each has a buffer
constexpr std::int64_t kBufferBytes = 1 << 26;  ///< of all buckets together
constexpr std::size_t kWindowEntries = 1 << 14;
constexpr std::size_t kRowsPerStart = 64;
constexpr std::size_t kLookup = 1 << 10;  ///< positions per entry of the table of buckets
constexpr std::int64_t kSortBlock = 1 << 12;

/// An entry before it is sorted.
template <class Entry>
struct Raw {
  std::uint32_t row;  ///< in its bucket
  Entry entry;
};
static_assert(sizeof(Raw<Vertex>) == 8 && sizeof(Raw<TypedNeighbour>) == 12);

/// Entries, and rows, that are sorted in memory at once.
template <class Entry>
std::int64_t most_in_bucket(std::int64_t entries) {
  return std::max(kBucketBytes / std::int64_t{sizeof(Entry)}, entries / kMostBuckets);
}

Vertex entry_of(const Edge&, Vertex neighbour) { return neighbour; }
TypedNeighbour entry_of(const TypedEdge& edge, Vertex neighbour) {
  return {neighbour, edge.relation};
}

/// Calls visit(row, entry) for every neighbour that the edges of a stream add.
template <class Stream, class Visit>
void for_each_entry(Stream& edges, RowSide side, const Visit& visit) {
  edges.rewind();
  for (auto block = edges.next(); !block.empty(); block = edges.next())
    for (const auto& edge : block) {
      const Vertex u = edge.source, v = edge.destination;
      if (side != RowSide::out) visit(v, entry_of(edge, u));
      if (side == RowSide::out || (side == RowSide::both && u != v)) visit(u, entry_of(edge, v));
    }
}

/// Calls visit(entries) for the raw entries from `first` on, some at a time.
template <class Entry, class Visit>
void for_each_raw(const PlainFile& raw, std::int64_t first, std::int64_t count,
                  const Visit& visit) {
  constexpr std::size_t kBytes = sizeof(Raw<Entry>);
  std::vector<Raw<Entry>> block(1 << 16);
  while (count > 0) {
    const auto now = static_cast<std::size_t>(std::min<std::int64_t>(count, std::ssize(block)));
    const auto from = static_cast<std::int64_t>(kBytes) * first;
    ORRERY_ASSERT(raw.read(from, block.data(), kBytes * now) == kBytes * now);
    visit(std::span<const Raw<Entry>>(block.data(), now));
    first += static_cast<std::int64_t>(now);
    count -= static_cast<std::int64_t>(now);
  }
}

}  // namespace

template <class Entry>
RowsSortedOnDisk<Entry>::RowsSortedOnDisk(Stream& edges, Side side, const OwnerOrder& order,
                                          const fs::path& scratch)
    : order_(order),
      compared_(!kTyped && side != Side::both),
      length_(static_cast<std::size_t>(order.vertices())),
      file_(scratch.string() + ".rows") {
  count(edges, side);
  cut_buckets();
  const fs::path raw_path = scratch.string() + ".raw";
  {
    PlainFile raw(raw_path);
    route(edges, side, raw);
    sort(raw);
  }
  fs::remove(raw_path);
  index_rows();
}

template <class Entry>
void RowsSortedOnDisk<Entry>::count(Stream& edges, Side side) {
  const auto n = static_cast<Vertex>(order_.vertices());
  for_each_entry(edges, side, [&](Vertex row, const Entry& entry) {
    const Vertex neighbour = vertex_of(entry);
    if (row >= n || neighbour >= n)
      throw DataError("the edges", "",
                      fmt::format("expected vertices below {}, found {}: this is not the file "
                                  "that was partitioned",
                                  n, std::max(row, neighbour)));
    ++length_[place(row)];
    ++added_;
  });
}

template <class Entry>
void RowsSortedOnDisk<Entry>::cut_buckets() {
  const std::int64_t most = most_in_bucket<Entry>(added_);
  bucket_ = {0};
  bucket_start_ = {0};
  std::int64_t entries = 0;
  for (std::size_t i = 0; i < length_.size(); ++i) {
    const bool full =
        entries - bucket_start_.back() + length_[i] > most ||
        static_cast<std::int64_t>(i - bucket_.back()) >= most;  // rows take memory, too
    if (full && i > bucket_.back()) {
      bucket_.push_back(i);
      bucket_start_.push_back(entries);
    }
    entries += length_[i];
  }
  bucket_.push_back(length_.size());
  bucket_start_.push_back(entries);
}

template <class Entry>
void RowsSortedOnDisk<Entry>::route(Stream& edges, Side side, PlainFile& raw) const {
  constexpr std::int64_t kBytes = sizeof(Raw<Entry>);
  const std::size_t buckets = bucket_.size() - 1;
  std::vector<std::uint32_t> bucket_near(length_.size() / kLookup + 1);
  for (std::size_t b = 0, i = 0; i < bucket_near.size(); ++i) {
    while (b + 1 < buckets && bucket_[b + 1] <= i * kLookup) ++b;
    bucket_near[i] = static_cast<std::uint32_t>(b);
  }
  const auto room = static_cast<std::size_t>(std::clamp<std::int64_t>(
      kBufferBytes / kBytes / static_cast<std::int64_t>(buckets), 512, 1 << 17));
  std::vector<Raw<Entry>> buffer(buckets * room);
  std::vector<std::size_t> used(buckets);
  std::vector<std::int64_t> next(bucket_start_.begin(), bucket_start_.end() - 1);
  const auto flush = [&](std::size_t b) {
    raw.write(kBytes * next[b], buffer.data() + b * room, sizeof(Raw<Entry>) * used[b]);
    next[b] += static_cast<std::int64_t>(used[b]);
    used[b] = 0;
  };
  for_each_entry(edges, side, [&](Vertex row, const Entry& entry) {
    const std::size_t position = place(row);
    std::size_t b = bucket_near[position / kLookup];
    while (position >= bucket_[b + 1]) ++b;
    buffer[b * room + used[b]] = {static_cast<std::uint32_t>(position - bucket_[b]), entry};
    if (++used[b] == room) flush(b);
  });
  for (std::size_t b = 0; b < buckets; ++b) {
    flush(b);
    if (next[b] != bucket_start_[b + 1])
      throw DataError("the edges", "", "changed while they were read");
  }
}

template <class Entry>
void RowsSortedOnDisk<Entry>::sort(const PlainFile& raw) {
  const std::int64_t most = most_in_bucket<Entry>(added_);
  std::vector<Entry> entries;
  for (std::size_t b = 0; b + 1 < bucket_.size(); ++b) {
    if (bucket_start_[b + 1] - bucket_start_[b] > most)
      merge_long_row(raw, b, entries);
    else
      sort_bucket(raw, b, entries);
    file_.write(std::int64_t{sizeof(Entry)} * entries_, entries.data(),
                sizeof(Entry) * entries.size());
    entries_ += std::ssize(entries);
  }
}

/// Counting sort by row, then each row separately; rows stay in place until all are sorted.
template <class Entry>
void RowsSortedOnDisk<Entry>::sort_bucket(const PlainFile& raw, std::size_t bucket,
                                          std::vector<Entry>& entries) {
  const std::size_t first = bucket_[bucket], rows = bucket_[bucket + 1] - first;
  std::vector<std::uint32_t> begin(rows + 1), next(rows);
  for (std::size_t r = 0; r < rows; ++r) begin[r + 1] = begin[r] + length_[first + r];
  std::copy(begin.begin(), begin.end() - 1, next.begin());
  entries.resize(begin[rows]);
  for_each_raw<Entry>(raw, bucket_start_[bucket], std::ssize(entries), [&](const auto& block) {
    for (const auto& [row, entry] : block) entries[next[row]++] = entry;
  });
  parallel_for(static_cast<std::int64_t>(rows), kSortBlock, [&](std::int64_t r, std::int64_t end) {
    for (; r < end; ++r) {
      const auto from = entries.begin() + begin[at(r)];
      const auto to = entries.begin() + begin[at(r) + 1];
      std::sort(from, to);
      note_row(first + static_cast<std::size_t>(r), {from, std::unique(from, to)});
    }
  });
  auto end = entries.begin();
  for (std::size_t r = 0; r < rows; ++r) {
    const auto from = entries.begin() + begin[r];
    end = std::copy_n(from, length_[first + r] & ~kLoop, end);
  }
  entries.erase(end, entries.end());
}

/// A row with more entries than a bucket. Neighbours are marked, a bit per vertex; with relations,
/// some entries at a time are sorted and merged with those before.
template <class Entry>
void RowsSortedOnDisk<Entry>::merge_long_row(const PlainFile& raw, std::size_t bucket,
                                             std::vector<Entry>& entries) {
  ORRERY_ASSERT(bucket_[bucket + 1] == bucket_[bucket] + 1);
  const std::int64_t first = bucket_start_[bucket], count = bucket_start_[bucket + 1] - first;
  entries.clear();
  if constexpr (kTyped) {
    std::vector<Entry> some, merged;
    const auto merge = [&] {
      std::sort(some.begin(), some.end());
      some.erase(std::unique(some.begin(), some.end()), some.end());
      merged.clear();
      std::ranges::set_union(entries, some, std::back_inserter(merged));
      entries.swap(merged);
      some.clear();
    };
    for_each_raw<Entry>(raw, first, count, [&](const auto& block) {
      for (const auto& [row, entry] : block) some.push_back(entry);
      if (std::ssize(some) >= kBucketBytes / std::int64_t{sizeof(Entry)}) merge();
    });
    merge();
  } else {
    std::vector<bool> seen(length_.size());
    for_each_raw<Entry>(raw, first, count, [&](const auto& block) {
      for (const auto& [row, neighbour] : block) seen[at(neighbour)] = true;
    });
    for (std::size_t v = 0; v < seen.size(); ++v)
      if (seen[v]) entries.push_back(static_cast<Vertex>(v));
  }
  note_row(bucket_[bucket], entries);
}

template <class Entry>
void RowsSortedOnDisk<Entry>::note_row(std::size_t position, std::span<const Entry> row) {
  const Vertex v = order_.vertex[position];
  const bool loop =
      std::ranges::binary_search(row, v, {}, [](const Entry& e) { return vertex_of(e); });
  length_[position] = static_cast<std::uint32_t>(row.size()) | (loop ? kLoop : 0);
  if (!compared_ || row.empty()) return;
  std::uint64_t forward = 0, backward = 0;
  for (const Entry& u : row) {
    forward += hash_of(v, vertex_of(u));
    backward += hash_of(vertex_of(u), v);
  }
  forward_.fetch_add(forward, std::memory_order_relaxed);
  backward_.fetch_add(backward, std::memory_order_relaxed);
}

template <class Entry>
void RowsSortedOnDisk<Entry>::index_rows() {
  std::int64_t start = 0;
  for (std::size_t i = 0; i < length_.size(); ++i) {
    if (i % kRowsPerStart == 0) start_.push_back(start);
    start += length_[i] & ~kLoop;
  }
}

template <class Entry>
std::int64_t RowsSortedOnDisk<Entry>::start_of(std::size_t position) const {
  if (position == next_position_) return next_start_;
  std::int64_t start = start_[position / kRowsPerStart];
  for (std::size_t i = position / kRowsPerStart * kRowsPerStart; i < position; ++i)
    start += length_[i] & ~kLoop;
  return start;
}

template <class Entry>
std::span<const Entry> RowsSortedOnDisk<Entry>::row(Vertex v) {
  constexpr std::size_t kBytes = sizeof(Entry);
  const std::size_t position = place(v), count = length_[position] & ~kLoop;
  const std::int64_t start = start_of(position), end = start + static_cast<std::int64_t>(count);
  next_position_ = position + 1;
  next_start_ = end;
  if (start < window_start_ || end > window_start_ + std::ssize(window_)) {
    window_.resize(std::max(count, kWindowEntries));
    const auto from = static_cast<std::int64_t>(kBytes) * start;
    window_.resize(file_.read(from, window_.data(), kBytes * window_.size()) / kBytes);
    window_start_ = start;
    ORRERY_ASSERT(window_.size() >= count);
  }
  return {window_.data() + (start - window_start_), count};
}

template class RowsSortedOnDisk<Vertex>;
template class RowsSortedOnDisk<TypedNeighbour>;

}  // namespace orrery
