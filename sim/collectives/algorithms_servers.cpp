// Collectives in two levels. Inside a server, members go around its first ring. Between servers,
// the members with the same place in their servers work separately, so that all adapters are used.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/message_list.hpp"
#include "sim/collectives/ring_rounds.hpp"
#include "sim/collectives/trees.hpp"

namespace orrery::sim {
namespace {

/// Pieces of a slice for each member: that of place j in server s has number s·places + j.
class Levels {
 public:
  explicit Levels(const Task& task)
      : layout_(task.layout),
        servers_(task.layout.server_count()),
        places_(static_cast<int>(task.layout.servers.front().size())) {
    if (!layout_.equal)
      throw ConfigError("simulation.algorithm",
                        fmt::format("hierarchical {} needs equally many ranks of a group on each "
                                    "server; choose auto or ring",
                                    name_of(task.shape.kind)));
  }
  int servers() const { return servers_; }
  int places() const { return places_; }
  int member(int server, int place) const { return layout_.servers[at(server)][at(place)]; }
  /// The slices of one place on `count` servers, beginning with the given one.
  Pieces slices(int place, int first_server, int count) const {
    return {first_server % servers_ * places_ + place, count, places_};
  }

  /// Rounds inside a server; the block of a member has the slices of its place on all servers.
  RingRounds inside(MessageList& list, int server, const std::vector<double>& bytes) const {
    const auto& ring = layout_.servers[at(server)];
    int place = 0;
    return RingRounds(list, ring, [&](int) {
      const int j = place++;
      double all = 0;
      for (int s = 0; s < servers_; ++s) all += bytes_of(bytes, s, j);
      return RingRounds::Block{all, slices(j, 0, servers_)};
    });
  }
  double bytes_of(const std::vector<double>& bytes, int server, int place) const {
    return bytes[at(member(server % servers_, place))];
  }

 private:
  const Layout& layout_;
  int servers_, places_;
};

/// Distances 1, 2, 4, ... at which servers pass on all that they hold (Bruck). Round d: server s
/// sends the slices of s, s + 1, ... to server s − d.
template <class Step>
void each_step(const Levels& levels, int distance, const Step& step) {
  const int count = std::min(distance, levels.servers() - distance);
  for (int place = 0; place < levels.places(); ++place)
    for (int s = 0; s < levels.servers(); ++s)
      step(place, s, (s - distance + levels.servers()) % levels.servers(), count);
}

double bytes_of_slices(const Levels& levels, const std::vector<double>& bytes, int place,
                       int first_server, int count) {
  double sum = 0;
  for (int k = 0; k < count; ++k) sum += levels.bytes_of(bytes, first_server + k, place);
  return sum;
}

std::string name(const Levels& levels, std::string_view inside, std::string_view across) {
  return fmt::format("hierarchical, {} in servers, {} over {} servers", inside, across,
                     levels.servers());
}

}  // namespace

Expansion servers_all_gather(const Task& task) {
  if (task.layout.server_count() == 1) return ring_all_gather(task);
  const Levels levels(task);
  const std::vector<double> bytes = task.slices();
  MessageList list(task.shape.ranks, task.shape.ranks);
  for (int d = 1; d < levels.servers(); d *= 2)
    each_step(levels, d, [&](int place, int holder, int other, int count) {
      list.send(levels.member(holder, place), levels.member(other, place),
                bytes_of_slices(levels, bytes, place, holder, count),
                levels.slices(place, holder, count), Arrival::replaces);
    });
  for (int s = 0; s < levels.servers(); ++s) levels.inside(list, s, bytes).all_gather();
  return list.take(name(levels, "ring", "doubling"));
}

/// The all-gather backwards.
Expansion servers_reduce_scatter(const Task& task) {
  if (task.layout.server_count() == 1) return ring_reduce_scatter(task);
  const Levels levels(task);
  const std::vector<double> bytes = task.slices();
  MessageList list(task.shape.ranks, task.shape.ranks);
  for (int s = 0; s < levels.servers(); ++s) levels.inside(list, s, bytes).reduce_scatter();
  int d = 1;
  while (2 * d < levels.servers()) d *= 2;
  for (; d > 0; d /= 2)
    each_step(levels, d, [&](int place, int holder, int other, int count) {
      list.send(levels.member(other, place), levels.member(holder, place),
                bytes_of_slices(levels, bytes, place, holder, count),
                levels.slices(place, holder, count), Arrival::adds);
    });
  return list.take(name(levels, "ring", "halving"));
}

/// Reduce-scatter inside servers, two binary trees between them for each slice, all-gather inside.
Expansion servers_all_reduce(const Task& task) {
  if (task.layout.server_count() == 1) return ring_all_reduce(task);
  const Levels levels(task);
  const int p = task.shape.ranks, places = levels.places();
  const double slice = task.shape.bytes / places, chunk = task.chunk(kChunkBytes);
  // Halves: piece j + t·places is the share of tree t in the slice of place j.
  MessageList list(p, 2 * places, chunk);
  const auto inside = [&](int server) {
    int place = 0;
    return RingRounds(list, task.layout.servers[at(server)], [&](int) {
      return RingRounds::Block{slice, {place++, 2, places}};
    });
  };
  for (int s = 0; s < levels.servers(); ++s) inside(s).reduce_scatter();
  for (int j = 0; j < places; ++j)
    for (const int t : {0, 1}) {
      std::vector<int> members;
      for (int s = 0; s < levels.servers(); ++s) members.push_back(levels.member(s, j));
      const Tree tree = binary_tree(members, t == 1);
      const Pieces half{j + t * places};
      for (auto e = tree.rbegin(); e != tree.rend(); ++e)
        list.send(e->to, e->from, slice / 2, half, Arrival::adds);
      for (const Edge& e : tree) list.send(e.from, e.to, slice / 2, half, Arrival::replaces);
    }
  for (int s = 0; s < levels.servers(); ++s) inside(s).all_gather();
  return list.take(name(levels, "ring", "double tree") + chunks_text(chunk, slice / 2));
}

}  // namespace orrery::sim
