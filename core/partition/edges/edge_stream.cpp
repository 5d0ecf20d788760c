#include "core/partition/edges/edge_stream.hpp"

#include <algorithm>

#include "core/base/cache_line.hpp"
#include "core/base/index.hpp"

namespace orrery {

void CsrEdges::rewind() {
  row_ = 0;
  entry_ = 0;
  block_.reserve(kStreamBlock);
}

std::span<const Edge> CsrEdges::next() {
  block_.clear();
  while (row_ < graph_.rows && block_.size() < kStreamBlock) {
    const EdgeIndex end = graph_.offsets[at(row_) + 1];
    const EdgeIndex room = static_cast<EdgeIndex>(kStreamBlock - block_.size());
    const EdgeIndex stop = std::min(end, entry_ + room);
    for (; entry_ < stop; ++entry_)
      block_.push_back({static_cast<Vertex>(row_), graph_.columns[at(entry_)]});
    if (entry_ == end) ++row_;
  }
  return block_;
}

StreamCounts count_edges(EdgeStream& stream) {
  StreamCounts counts;
  counts.degree.resize(static_cast<std::size_t>(stream.known_vertices()));
  stream.rewind();
  for (auto block = stream.next(); !block.empty(); block = stream.next()) {
    Vertex largest = -1;
    for (const Edge& edge : block) largest = std::max({largest, edge.source, edge.destination});
    if (static_cast<std::int64_t>(largest) >= counts.vertices())
      counts.degree.resize(static_cast<std::size_t>(largest) + 1);
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (i + kFetchAhead < block.size()) {
        prefetch_to_write(&counts.degree[at(block[i + kFetchAhead].source)]);
        prefetch_to_write(&counts.degree[at(block[i + kFetchAhead].destination)]);
      }
      const auto [u, v] = block[i];
      const std::uint32_t one = u != v ? 1 : 0;
      counts.degree[at(u)] += one;
      counts.degree[at(v)] += one;
      counts.edges += one;
    }
  }
  return counts;
}

}  // namespace orrery
