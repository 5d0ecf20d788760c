#include "core/partition/parts/typed_edges.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {

TypedEdges::TypedEdges(EdgeStream& edges, const StreamedDataset& data)
    : edges_(edges),
      relations_(data.edges.parent_path() / kEdgeRelations),
      count_(read_npy_header(data.edges).shape.at(1)),
      stored_(static_cast<std::int32_t>(data.typed->relations.size())),
      typed_(*data.typed),
      check_(*data.typed, data.edges),
      added_(data.typed->relations.size(), -1) {
  relations_.header().require(npy_dtype<std::int32_t>(), {count_});
  if (data.mirrored) find_reverses();
}

/// Relations without edges have the same reverses as those with edges.
void TypedEdges::find_reverses() {
  for (Relation& relation : typed_.relations) relation.graph = std::make_shared<const Csr>();
  add_reverse_relations(typed_);
  for (Relation& relation : typed_.relations) relation.graph = nullptr;
  for (std::int32_t r = 0; r < stored_; ++r) {
    const Relation& one = typed_.relations[at(r)];
    const Relation* found = typed_.relation(one.destination, reverse_name(one.name), one.source);
    reverse_.push_back(static_cast<std::int32_t>(found - typed_.relations.data()));
    const bool is_first = std::ranges::find(added_, reverse_.back()) == added_.end();
    if (reverse_.back() >= stored_ && is_first) added_[at(r)] = reverse_.back();
  }
}

std::optional<std::int32_t> TypedEdges::reverse_of(std::int32_t relation) const {
  if (reverse_.empty()) return std::nullopt;
  return reverse_[at(relation)];
}

void TypedEdges::rewind() {
  edges_.rewind();
  next_ = 0;
}

std::span<const TypedEdge> TypedEdges::next() {
  const auto edges = edges_.next();
  block_.clear();
  if (next_ + std::ssize(edges) > count_ || (edges.empty() && next_ < count_))
    throw DataError(relations_.header().path, "",
                    fmt::format("expected the relations of {} edges, found another number of edges "
                                "while they were read",
                                count_));
  const auto relations = relations_.elements<std::int32_t>(next_, std::ssize(edges));
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const auto [u, v] = edges[i];
    const std::int32_t relation = relations[i];
    check_.require(next_ + static_cast<std::int64_t>(i), edges[i], relation);
    block_.push_back({u, v, relation});
    if (added_[at(relation)] >= 0) block_.push_back({v, u, added_[at(relation)]});
  }
  next_ += std::ssize(edges);
  return block_;
}

}  // namespace orrery
