// What generators of typed communities share.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "core/base/index.hpp"
#include "core/graph/generate/generate.hpp"

namespace orrery {

/// Vertices of a type in groups of equal size (to within one), with scrambled numbers.
class Planted {
 public:
  /// `skew`: a vertex at share x of its group is drawn with a density of x^(1/skew - 1); 1: all alike.
  Planted(VertexType type, std::int64_t groups, std::uint64_t seed, double skew = 1)
      : type_(std::move(type)), groups_(groups), skew_(skew), scramble_(type_.count, seed) {}

  const VertexType& type() const { return type_; }
  std::int64_t groups() const { return groups_; }
  /// Calls f(vertex, group) for each of them.
  template <class F>
  void for_each(const F& f) const {
    for (std::int64_t i = 0; i < type_.count; ++i) f(vertex(i), group_of(i));
  }
  /// One of all, with its group.
  std::pair<Vertex, std::int64_t> draw(Sequence& random) const {
    if (skew_ == 1) {
      const auto i = below(type_.count, random);
      return {vertex(i), group_of(i)};
    }
    const std::int64_t group = below(groups_, random);
    return {draw_in(group, random), group};
  }
  /// One of a group or, with probability `mixing`, of another one.
  Vertex draw_near(std::int64_t group, double mixing, Sequence& random) const {
    if (groups_ == 1 || random.uniform() >= mixing) return draw_in(group, random);
    if (skew_ != 1) return draw_in((group + 1 + below(groups_ - 1, random)) % groups_, random);
    const std::int64_t begin = begin_of(group), size = begin_of(group + 1) - begin;
    const std::int64_t i = below(type_.count - size, random);
    return vertex(i < begin ? i : i + size);
  }

 private:
  static std::int64_t below(std::int64_t n, Sequence& random) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(n)));
  }
  Vertex draw_in(std::int64_t group, Sequence& random) const {
    const std::int64_t begin = begin_of(group), size = begin_of(group + 1) - begin;
    if (skew_ == 1) return vertex(begin + below(size, random));
    const double share = std::pow(random.uniform(), skew_);
    return vertex(begin +
                  std::min(size - 1, static_cast<std::int64_t>(share * static_cast<double>(size))));
  }
  std::int64_t group_of(std::int64_t i) const { return i * groups_ / type_.count; }
  std::int64_t begin_of(std::int64_t group) const {
    return (group * type_.count + groups_ - 1) / groups_;
  }
  Vertex vertex(std::int64_t i) const { return static_cast<Vertex>(type_.first + scramble_(i)); }

  VertexType type_;
  std::int64_t groups_;
  double skew_;
  Scramble scramble_;
};

/// The entries (v, u) that are wanted.
template <class Wanted>
std::shared_ptr<const Csr> entries_of(const Csr& graph, const Wanted& wanted) {
  auto result = std::make_shared<Csr>();
  result->rows = result->cols = graph.rows;
  result->offsets.reserve(at(graph.rows) + 1);
  for (std::int64_t v = 0; v < graph.rows; ++v) {
    for (const Vertex u : graph.row(v))
      if (wanted(v, u)) result->columns.push_back(u);
    result->offsets.push_back(result->nnz());
  }
  return result;
}

/// Adds a relation and its reverse. `both`: its edges in both directions. Among vertices of one type it
/// leads from the larger number to the smaller.
inline void add_both_ways(TypedGraph& typed, const VertexType& source, const std::string& name,
                          const VertexType& destination, const Csr& both) {
  const auto is_forward = [&](std::int64_t v, std::int64_t u) {
    return source.name == destination.name ? u > v : destination.has(v);
  };
  typed.relations.push_back({source.name, name, destination.name, entries_of(both, is_forward)});
  typed.relations.push_back(
      {destination.name, kReversePrefix + name, source.name,
       entries_of(both, [&](std::int64_t v, std::int64_t u) { return !is_forward(v, u); })});
}

}  // namespace orrery
