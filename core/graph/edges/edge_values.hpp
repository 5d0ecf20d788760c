// Values that belong to the edges of a data set: which entries the edges of its files are.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "core/base/index.hpp"
#include "core/graph/dataset.hpp"
#include "core/graph/files/npy.hpp"

namespace orrery {

/// Where an entry of a graph is among all entries; -1: it is not there.
EdgeIndex entry_of(const Csr& graph, std::int64_t row, Vertex column);

/// A value for each entry of a graph, in their order.
template <class T>
struct EntryValues {
  std::shared_ptr<const Csr> graph;
  std::vector<T> values;
};

/// A value for each edge of a data set: of its graph, and of each relation if it is typed.
template <class T>
struct EdgeValues {
  EntryValues<T> of_graph;
  std::vector<EntryValues<T>> of_relations;
};

/// The edges of a folder's edges.npy (and edge_relations.npy), from which the graph of a data set was made.
class EdgesOfFolder {
 public:
  /// Errors    DataError: edges that the data set does not have
  EdgesOfFolder(const std::filesystem::path& folder, const Dataset& dataset);
  std::int64_t count() const { return static_cast<std::int64_t>(ends_.size() / 2); }

  /// merge(value, e) for each edge e, relation by relation in the order of the file, at the entry that it is
  /// of its relation and of the graph. Values start as `none`. An entry that no edge of the file is was added
  /// as the reverse of another one, by the reverse of its relation; it then has the value of that one.
  template <class T, class Merge>
  EdgeValues<T> collect(T none, const Merge& merge) const {
    EdgeValues<T> made;
    const auto begin = [&](const std::shared_ptr<const Csr>& graph) {
      return EntryValues<T>{graph, std::vector<T>(graph->columns.size(), none)};
    };
    made.of_graph = begin(dataset_.graph);
    if (dataset_.typed)
      for (const Relation& relation : dataset_.typed->relations)
        made.of_relations.push_back(begin(relation.graph));
    const auto count = at(this->count());
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t e = by_relation_.empty() ? i : by_relation_[i];
      const auto at_entry = [&](EntryValues<T>& of) -> T& {
        return of.values[at(entry_of(*of.graph, ends_[count + e], ends_[e]))];
      };
      merge(at_entry(made.of_graph), e);
      if (dataset_.typed) merge(at_entry(made.of_relations[at(kinds_[e])]), e);
    }
    complete(made.of_graph, made.of_graph, none);
    for (std::size_t r = 0; r < made.of_relations.size(); ++r)
      if (const int reverse = reverse_of(static_cast<int>(r)); reverse >= 0)
        complete(made.of_relations[r], made.of_relations[at(reverse)], none);
    return made;
  }

 private:
  template <class T>
  static void complete(EntryValues<T>& of, const EntryValues<T>& reverse, T none) {
    for (std::int64_t v = 0; v < of.graph->rows; ++v)
      for (EdgeIndex e = of.graph->offsets[at(v)]; e < of.graph->offsets[at(v) + 1]; ++e) {
        T& value = of.values[at(e)];
        if (value != none) continue;
        const EdgeIndex other =
            entry_of(*reverse.graph, of.graph->columns[at(e)], static_cast<Vertex>(v));
        if (other >= 0) value = reverse.values[at(other)];
      }
  }
  /// The relation with the edges of another one in the other direction; -1: none.
  int reverse_of(int relation) const;

  const Dataset& dataset_;
  NpyArray edges_;
  std::span<const std::int32_t> ends_;    ///< sources, then destinations
  std::vector<std::int32_t> kinds_;       ///< relations; none: untyped
  std::vector<std::size_t> by_relation_;  ///< edges, relation by relation; none: untyped
};

/// The values in the order of the edges that write_orrery() writes: relation by relation, each by (source,
/// destination).
template <class T>
std::vector<T> in_written_order(const EdgeValues<T>& of_edges) {
  std::vector<T> ordered;
  const auto append = [&](const EntryValues<T>& of) {
    const Csr by_source = transpose(*of.graph);
    for (std::int64_t u = 0; u < by_source.rows; ++u)
      for (const Vertex v : by_source.row(u))
        ordered.push_back(of.values[at(entry_of(*of.graph, v, static_cast<Vertex>(u)))]);
  };
  for (const EntryValues<T>& relation : of_edges.of_relations) append(relation);
  if (of_edges.of_relations.empty()) append(of_edges.of_graph);
  return ordered;
}

}  // namespace orrery
