#include "core/graph/dataset.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/error.hpp"

namespace orrery {
namespace {

const std::string kTyped = "typed: ";  // how the note on types begins

}  // namespace

std::int64_t TypedGraph::edges() const {
  std::int64_t sum = 0;
  for (const Relation& relation : relations) sum += relation.graph->nnz();
  return sum;
}

const VertexType* TypedGraph::type(const std::string& name) const {
  const auto found = std::ranges::find(types, name, &VertexType::name);
  return found == types.end() ? nullptr : &*found;
}

const Relation* TypedGraph::relation(const std::string& source, const std::string& name,
                                     const std::string& destination) const {
  const auto found = std::ranges::find_if(relations, [&](const Relation& each) {
    return each.source == source && each.name == name && each.destination == destination;
  });
  return found == relations.end() ? nullptr : &*found;
}

std::vector<std::string> TypedGraph::texts() const {
  std::vector<std::string> all;
  for (const Relation& relation : relations) all.push_back(relation.text());
  return all;
}

std::vector<std::string> TypedGraph::type_names() const {
  std::vector<std::string> all;
  for (const VertexType& type : types) all.push_back(type.name);
  return all;
}

Csr union_of(const TypedGraph& typed) {
  Csr all;
  for (const Relation& relation : typed.relations)
    all = all.rows == 0 ? *relation.graph : merge(all, *relation.graph);
  return all;
}

std::string words_of(const TypedGraph& typed) {
  std::vector<std::string> types, relations;
  for (const VertexType& type : typed.types)
    types.push_back(fmt::format("{} {}", type.name, type.count));
  for (const Relation& relation : typed.relations)
    relations.push_back(fmt::format("{} {}", relation.text(), relation.graph->nnz()));
  return fmt::format("{} vertex types ({}), {} relations ({})", types.size(),
                     fmt::join(types, ", "), relations.size(), fmt::join(relations, ", "));
}

std::string reverse_name(const std::string& name) {
  const bool reversed = name.starts_with(kReversePrefix) && name != kReversePrefix;
  return reversed ? name.substr(kReversePrefix.size()) : kReversePrefix + name;
}

void add_reverse_relations(TypedGraph& typed) {
  const std::vector<Relation> before = typed.relations;
  for (const Relation& relation : before) {
    const std::string name = reverse_name(relation.name);
    Csr edges = transpose(*relation.graph);
    const Relation* known = typed.relation(relation.destination, name, relation.source);
    if (known == nullptr)
      typed.relations.push_back({relation.destination, name, relation.source,
                                 std::make_shared<const Csr>(std::move(edges))});
    else if (*known->graph != edges)
      throw ConfigError("dataset.symmetric",
                        fmt::format("{} is no reverse of {}: some edges differ. Give it another "
                                    "name, or set dataset.symmetric to false",
                                    known->text(), relation.text()));
  }
}

void set_typed_graph(Dataset& dataset, TypedGraph typed) {
  dataset.graph = std::make_shared<const Csr>(union_of(typed));
  std::erase_if(dataset.notes, [](const std::string& note) { return note.starts_with(kTyped); });
  dataset.notes.push_back(kTyped + words_of(typed));
  dataset.typed = std::make_shared<const TypedGraph>(std::move(typed));
}

void set_graph(Dataset& dataset, const EdgeList& edges) {
  dataset.graph = std::make_shared<Csr>(build_csr(edges));
  note_duplicates(dataset, edges.size() - dataset.graph->nnz());
}

void note_duplicates(Dataset& dataset, std::int64_t merged) {
  if (merged > 0) dataset.notes.push_back(fmt::format("{} duplicate edges merged", merged));
}

}  // namespace orrery
