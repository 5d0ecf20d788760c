// Which calls of the ranks are one collective, and what messages that is.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "sim/collectives/instance.hpp"
#include "sim/collectives/planner.hpp"
#include "sim/replay/simulation.hpp"
#include "sim/replay/traffic.hpp"

namespace orrery::sim {

/// The ranks of a collective, or the two of a message, and how often they have met before. Calls
/// with equal keys are one collective.
struct CallKey {
  Lane lane = Lane::comm;
  Group group;
  int from = -1, to = -1;  ///< of a message: indices in the group
  int sequence = 0;
  bool operator==(const CallKey&) const = default;
};
struct CallKeyHash {
  std::size_t operator()(const CallKey& key) const;
};

/// A collective as messages between the members of a group (of a message: the two of them).
struct CallPlan {
  CollectiveKind kind = CollectiveKind::broadcast;
  double bytes = 0;
  Group members;
  std::shared_ptr<const PreparedExpansion> expansion;
  std::vector<int> connections;  ///< of each message; kCopied: it crosses no link
  static constexpr int kCopied = -1;
};

/// Whether a message between two devices is copied by a core instead of crossing links.
bool copied(const Simulation& simulation, int from_device, int to_device);

/// All calls of a simulation.
class CallBook {
 public:
  /// With `traffic`, plans say over which connections their messages go.
  explicit CallBook(const Simulation& simulation, const Traffic* traffic = nullptr);

  /// The collectives that a rank's next call on a lane belongs to: one, of SendRecv up to two.
  std::vector<CallKey> next(int rank, const Call& call, const GroupUse& use);
  /// Of a key that a rank has come to first.
  ///
  /// Errors    ConfigError (algorithms)
  std::shared_ptr<const CallPlan> plan(const CallKey& key, int rank, const Call& call);
  /// Counts a collective for algorithms().
  void count(const CallPlan& plan);
  std::vector<AlgorithmUse> algorithms() const;

  /// The pairs of devices between which messages travel over links.
  ///
  /// Errors    ConfigError (ranks on one device whose library cannot copy within it; algorithms)
  std::set<Traffic::Pair> connected_pairs();

 private:
  struct PlanKey {
    Group members;
    CollectiveKind kind;
    int root;
    double bytes;
    const std::vector<double>* parts;
    auto tie() const {
      return std::tie(members.first, members.size, members.stride, kind, root, bytes, parts);
    }
    bool operator<(const PlanKey& other) const { return tie() < other.tie(); }
  };
  std::shared_ptr<const CallPlan> plan(const PlanKey& key,
                                       std::shared_ptr<const std::vector<double>> parts);
  std::shared_ptr<const std::vector<double>> parts_of(const CallKey& key, int rank,
                                                      const Call& call);
  /// The same object for equal contents.
  std::shared_ptr<const std::vector<double>> same(std::vector<double> parts);
  const GroupPlaces& places(const Group& members);
  /// The collectives of a rank on a lane and group, in order.
  const std::vector<std::uint32_t>& calls_of(int rank, Lane lane, const Group& group);

  std::vector<int> connections_of(const Group& members, const Expansion& expansion) const;

  const Simulation& s_;
  const Traffic* traffic_;
  CollectivePlanner planner_;
  /// Of each rank, how often it has met each group of its table, and whom for messages (keys of
  /// sequence 0).
  std::vector<std::vector<int>> collectives_;
  std::vector<std::unordered_map<CallKey, int, CallKeyHash>> messages_;
  std::map<std::tuple<int, int, int>, GroupPlaces> places_;
  std::map<std::tuple<const RankSchedule*, std::uint32_t>, std::vector<std::uint32_t>> calls_;
  std::set<std::shared_ptr<const std::vector<double>>,
           bool (*)(const std::shared_ptr<const std::vector<double>>&,
                    const std::shared_ptr<const std::vector<double>>&)>
      matrices_;
  std::map<PlanKey, std::shared_ptr<const CallPlan>> plans_;
  std::int64_t kept_messages_ = 0;
  std::map<std::tuple<CollectiveKind, int, std::string>, AlgorithmUse> uses_;
};

}  // namespace orrery::sim
