#include "core/strategy/store/edge_rows.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/index.hpp"
#include "core/sample/numbering.hpp"
#include "core/strategy/edges/relation_structure.hpp"

namespace orrery {
namespace {

using FeaturesOfEntries = EdgeStructure::FeaturesOfEntries;

/// Calls `visit` for the features of each pattern of a batch, in the order of FeaturesOfEdges.
template <class Visit>
void for_each_pattern(const std::vector<EdgeStructure>& layers, bool alike, const Visit& visit) {
  for (const EdgeStructure& layer : layers) {
    if (!layer.relations) visit(layer.features);
    if (layer.relations)
      for (const RelationMatrix& relation : layer.relations->relations)
        visit(relation.edges->features);
    if (alike) break;
  }
}

/// The lowest and the highest end to which an edge with each row leads; -1: there is none.
struct Ends {
  std::vector<Vertex> lowest, highest;

  explicit Ends(std::int64_t rows) : lowest(at(rows), -1), highest(at(rows), -1) {}
  void add(const EntryValues<Vertex>& of) {
    for (Vertex v = 0; v < of.graph->rows; ++v)
      for (EdgeIndex e = of.graph->offsets[at(v)]; e < of.graph->offsets[at(v) + 1]; ++e) {
        const std::size_t row = at(of.values[at(e)]);
        lowest[row] = lowest[row] < 0 ? v : std::min(lowest[row], v);
        highest[row] = std::max(highest[row], v);
      }
  }
};

}  // namespace

EdgeRows::EdgeRows(std::shared_ptr<const EdgeFeatures> features, bool of_relations,
                   const Partition& partition)
    : features_(std::move(features)),
      owner_(at(features_->rows->rows()), kNobody),
      number_(owner_.size(), 0),
      held_(at(partition.parts), 0) {
  Ends ends(features_->rows->rows());
  if (of_relations)
    for (const auto& relation : features_->row_of_entry.of_relations) ends.add(relation);
  else
    ends.add(features_->row_of_entry.of_graph);
  for (std::size_t row = 0; row + 1 < owner_.size(); ++row) {
    if (ends.lowest[row] < 0) continue;
    owner_[row] = partition.owner[at(row % 2 == 0 ? ends.lowest[row] : ends.highest[row])];
    number_[row] = static_cast<Vertex>(held_[at(owner_[row])]++);
  }
}

std::int64_t EdgeRows::rows() const {
  return std::accumulate(held_.begin(), held_.end(), std::int64_t{1});
}

Source EdgeRows::own(int rank) const {
  auto rows = std::make_shared<std::vector<Vertex>>();
  rows->reserve(at(held_[at(rank)] + 1));
  for (std::size_t row = 0; row < owner_.size(); ++row)
    if (owner_[row] == rank) rows->push_back(static_cast<Vertex>(row));
  rows->push_back(static_cast<Vertex>(features_->rows->rows() - 1));
  return FeatureRows{features_->rows, std::move(rows)};
}

WantedRows EdgeRows::wanted(int rank, const std::vector<EdgeStructure>& layers, bool alike) const {
  std::size_t edges = 0;
  for_each_pattern(layers, alike,
                   [&](const FeaturesOfEntries& of) { edges += at(of.row_of_entry.size()); });
  TableNumbering numbering(std::min<std::int64_t>(static_cast<std::int64_t>(edges), rows()));
  numbering.begin();
  std::vector<Vertex> distinct;
  auto places = std::make_shared<std::vector<Vertex>>();
  places->reserve(edges);
  for_each_pattern(layers, alike, [&](const FeaturesOfEntries& of) {
    for (const Vertex row : *of.row_of_entry.numbers())
      places->push_back(numbering.number(row, distinct));
  });

  const auto owner = [&](Vertex row) {
    return owner_[at(row)] == kNobody ? rank : owner_[at(row)];
  };
  WantedRows made;
  auto counts = std::make_shared<std::vector<std::int64_t>>(held_.size(), 0);
  for (const Vertex row : distinct) {
    ++(*counts)[at(owner(row))];
    made.foreign += owner(row) != rank ? 1 : 0;
  }
  std::vector<std::int64_t> next(counts->size(), 0);
  std::exclusive_scan(counts->begin(), counts->end(), next.begin(), std::int64_t{0});
  auto numbers = std::make_shared<std::vector<Vertex>>(distinct.size());
  for (Vertex& row : distinct) {  // its place from now on
    const std::int64_t place = next[at(owner(row))]++;
    (*numbers)[at(place)] =
        owner_[at(row)] == kNobody ? static_cast<Vertex>(held_[at(rank)]) : number_[at(row)];
    row = static_cast<Vertex>(place);
  }
  for (Vertex& place : *places) place = distinct[at(place)];
  made.room = std::ssize(*numbers);
  made.pulled = {std::move(numbers), std::move(counts)};
  made.places = std::move(places);
  return made;
}

WantedRows EdgeRows::counted(int rank, const std::vector<EdgeStructure>& layers, bool alike,
                             std::int64_t most) const {
  std::int64_t edges = 0;
  for_each_pattern(layers, alike,
                   [&](const FeaturesOfEntries& of) { edges += of.row_of_entry.size(); });
  WantedRows made;
  made.room = std::min(edges, most);
  auto counts = std::make_shared<std::vector<std::int64_t>>();
  const std::int64_t all = rows() - 1;
  std::int64_t held = 0, before = 0;
  for (const std::int64_t of_rank : held_) {
    held += of_rank;
    const std::int64_t until = all > 0 ? made.room * held / all : made.room;
    counts->push_back(until - std::exchange(before, until));
  }
  made.foreign = made.room - (*counts)[at(rank)];
  made.pulled = {std::make_shared<const std::vector<Vertex>>(at(made.room)), std::move(counts)};
  made.places = std::make_shared<const std::vector<Vertex>>(at(edges));
  return made;
}

}  // namespace orrery
