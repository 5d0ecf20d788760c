#include "core/partition/methods/refine.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/cache_line.hpp"
#include "core/base/index.hpp"
#include "core/partition/methods/none.hpp"
#include "core/partition/replicas.hpp"

namespace orrery {
namespace {

class Refinement {
 public:
  Refinement(EdgeStream& edges, Partition& cut, double balance)
      : edges_(edges),
        owner_(cut.owner),
        parts_(cut.parts),
        degree_(cut.owner.size()),
        candidate_(cut.owner.size()),
        gain_(cut.owner.size()) {
    const auto n = static_cast<double>(owner_.size());
    most_ = std::max(static_cast<std::int64_t>(balance * n / parts_),
                     static_cast<std::int64_t>(std::ceil(n / parts_)));
    size_.resize(at(parts_));
    for (const auto p : owner_) ++size_[at(p)];
    for_each_edge(edges_, [&](const Edge& e) {
      ++degree_[at(e.source)];
      ++degree_[at(e.destination)];
    });
  }

  /// Vertices that the parts hold with complete neighbourhoods.
  std::int64_t held() {
    Replicas needed(static_cast<std::int64_t>(owner_.size()), parts_);
    for (std::size_t v = 0; v < owner_.size(); ++v) needed.add(static_cast<Vertex>(v), owner_[v]);
    for_each_edge(
        edges_, [&](const Edge& e) { needed.fetch(e.source), needed.fetch(e.destination); },
        [&](const Edge& e) {
          needed.add(e.source, owner_[at(e.destination)]);
          needed.add(e.destination, owner_[at(e.source)]);
        });
    return needed.total();
  }

  /// Vertices beyond the bound.
  std::int64_t excess() const {
    std::int64_t sum = 0;
    for (const auto size : size_) sum += std::max<std::int64_t>(0, size - most_);
    return sum;
  }

  /// One round in one direction; false if nothing moved.
  bool move(bool upwards) {
    elect(upwards);
    weigh();
    std::vector<Vertex> movers;
    for (std::size_t v = 0; v < owner_.size(); ++v)
      if (candidate_[v] != kNone && (gain_[v] > 0 || size_[at(owner_[v])] > most_))
        movers.push_back(static_cast<Vertex>(v));
    std::sort(movers.begin(), movers.end(), [&](Vertex a, Vertex b) {
      return gain_[at(a)] != gain_[at(b)] ? gain_[at(a)] > gain_[at(b)] : a < b;
    });
    moved_.clear();
    for (const Vertex v : movers) {
      const std::int32_t from = owner_[at(v)], to = candidate_[at(v)];
      const bool wanted = gain_[at(v)] > 0 || size_[at(from)] > most_;
      if (!wanted || size_[at(to)] >= most_) continue;
      place(v, to);
      candidate_[at(v)] = from;  // where undo() finds it
      moved_.push_back(v);
    }
    return !moved_.empty();
  }

  void undo() {
    for (const Vertex v : moved_) place(v, candidate_[at(v)]);
  }

 private:
  void place(Vertex v, std::int32_t part) {
    --size_[at(owner_[at(v)])];
    ++size_[at(part)];
    owner_[at(v)] = part;
  }

  template <class Visit>  // visit(vertex, neighbour), both ways
  void for_each_neighbour(const Visit& visit) {
    for_each_edge(
        edges_,
        [&](const Edge& e) {
          for (const Vertex v : {e.source, e.destination}) {
            prefetch(&owner_[at(v)]);
            prefetch_to_write(&candidate_[at(v)]);
            prefetch_to_write(&gain_[at(v)]);
          }
        },
        [&](const Edge& e) {
          visit(e.source, e.destination);
          visit(e.destination, e.source);
        });
  }

  double weight(Vertex neighbour) const { return 1.0 / degree_[at(neighbour)]; }

  void elect(bool upwards) {
    std::fill(candidate_.begin(), candidate_.end(), kNone);
    std::fill(gain_.begin(), gain_.end(), 0);
    for_each_neighbour([&](Vertex v, Vertex u) {
      const std::int32_t part = owner_[at(u)], own = owner_[at(v)];
      if (upwards ? part <= own : part >= own) return;
      auto& votes = gain_[at(v)];
      const auto one = static_cast<float>(weight(u));
      if (candidate_[at(v)] == part) {
        votes += one;
      } else if (votes < one) {
        candidate_[at(v)] = part;
        votes = one - votes;
      } else {
        votes -= one;
      }
    });
  }

  void weigh() {
    std::fill(gain_.begin(), gain_.end(), 0);
    for_each_neighbour([&](Vertex v, Vertex u) {
      const std::int32_t part = owner_[at(u)];
      if (part == owner_[at(v)]) gain_[at(v)] -= static_cast<float>(weight(u));
      if (part == candidate_[at(v)]) gain_[at(v)] += static_cast<float>(weight(u));
    });
  }

  EdgeStream& edges_;
  std::vector<std::int32_t>& owner_;
  int parts_;
  std::int64_t most_ = 0;
  std::vector<std::int64_t> size_;
  std::vector<std::uint32_t> degree_;
  std::vector<std::int32_t> candidate_;
  std::vector<float> gain_;  ///< first votes for the candidate, then the gain of a move
  std::vector<Vertex> moved_;
};

}  // namespace

RefineResult refine_cut(EdgeStream& edges, Partition& cut, const RefineOptions& options) {
  RefineResult result;
  Refinement refinement(edges, cut, options.balance);
  result.before = result.after = refinement.held();
  std::int64_t excess = refinement.excess();
  for (int round = 0, idle = 0; round < options.rounds && idle < 2; ++round) {
    const bool moved = refinement.move(round % 2 == 0);
    const std::int64_t held = moved ? refinement.held() : result.after;
    const std::int64_t left = refinement.excess();
    if (left < excess || (left == excess && held < result.after)) {
      result.after = held;
      excess = left;
      ++result.rounds;
      idle = 0;
    } else {
      if (moved) refinement.undo();
      ++idle;
    }
  }
  return result;
}

}  // namespace orrery
