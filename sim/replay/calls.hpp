// Which calls of the ranks form one collective, and its messages.
#pragma once

#include <array>
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

/// The collectives of one call.
class CallKeys {
 public:
  void push_back(const CallKey& key) { keys_[count_++] = key; }
  const CallKey* begin() const { return keys_.data(); }
  const CallKey* end() const { return keys_.data() + count_; }
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }

 private:
  std::array<CallKey, 2> keys_;
  std::size_t count_ = 0;
};

/// A collective as messages between the members of a group (of a message: the two of them).
struct CallPlan {
  CollectiveKind kind = CollectiveKind::broadcast;
  double bytes = 0;
  Group members;
  std::string algorithm;
  std::shared_ptr<const PreparedExpansion> expansion;  ///< in a book without traffic
  /// In a book with traffic. A path's connection is the traffic's, kCopied: it crosses no link.
  MessagePlan messages;
  static constexpr int kCopied = -1;
};

/// Whether a core copies a message between two devices instead of links.
bool copied(const Simulation& simulation, int from_device, int to_device);

/// All calls of a simulation.
class CallBook {
 public:
  /// With `traffic`, plans have the messages of a replay, else expansions.
  explicit CallBook(const Simulation& simulation, const Traffic* traffic = nullptr);

  /// The collectives of a rank's next call on a lane: one, or up to two for SendRecv.
  CallKeys next(int rank, const Call& call, const GroupUse& use);
  /// For a key that a rank is the first to reach.
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

  MessagePlan messages_of(const PlanKey& key, const Expansion& expansion);

  const Simulation& s_;
  const Traffic* traffic_;
  CollectivePlanner planner_;
  /// How often each rank has met each group of its table [ranks][most_groups_], and whom for
  /// messages (keys of sequence 0).
  std::size_t most_groups_ = 0;
  std::vector<int> collectives_;
  std::vector<std::unordered_map<CallKey, int, CallKeyHash>> messages_;
  std::map<std::tuple<int, int, int>, GroupPlaces> places_;
  std::map<std::tuple<const RankSchedule*, std::uint32_t>, std::vector<std::uint32_t>> calls_;
  std::set<std::shared_ptr<const std::vector<double>>,
           bool (*)(const std::shared_ptr<const std::vector<double>>&,
                    const std::shared_ptr<const std::vector<double>>&)>
      matrices_;
  std::map<PlanKey, std::shared_ptr<const CallPlan>> plans_;
  std::int64_t kept_messages_ = 0;
  OrderInterner orders_;
  std::vector<int> devices_, servers_;  ///< of each rank
  std::map<std::tuple<CollectiveKind, int, std::string>, AlgorithmUse> uses_;
};

}  // namespace orrery::sim
