// Rates of flows that share capacities max-min fairly, kept up to date as flows come and go.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace orrery::sim {

/// The rates are max-min fair when every flow has a bottleneck: a capacity that is used up, on which
/// no flow is faster (Bertsekas and Gallager, Data Networks, 6.5.2). That can be seen capacity by
/// capacity, so a change is settled where it happened: the flows whose bottleneck changed are
/// filled again by progressive filling while all others keep their rates, and a flow that has lost
/// its bottleneck by that, or takes more than its share of somebody's bottleneck, joins them, until
/// every flow has one. Flows far from the change are never looked at, and a flow that has its whole
/// route to itself comes and goes without any of that. A capacity that is nobody's bottleneck, and
/// that the new rates leave far from full, is not asked: hundreds of flows may pass it.
class MaxMin {
 public:
  /// Capacities in bytes per second, > 0.
  explicit MaxMin(const std::vector<double>& bytes_per_second);

  /// A flow through distinct capacities; `route` has to stay where it is while the flow does. One
  /// without capacities is as fast as can be said.
  int add(const std::vector<int>& route);
  void remove(int flow);
  /// In bytes per second; of a new flow 0 until settle(), unless it has its route to itself.
  double rate(int flow) const { return flows_[static_cast<std::size_t>(flow)].rate; }
  /// Brings the rates up to date. Flows whose rates changed are appended to `changed`.
  void settle(std::vector<int>& changed);
  bool settled() const { return touched_by_change_.empty(); }

 private:
  static constexpr int kNone = -1;
  struct Flow {
    const std::vector<int>* route = nullptr;
    double rate = 0, filled = 0;
    int bottleneck = kNone, filled_at = kNone;
    bool open = false;     ///< it is filled again
    bool growing = false;  ///< and has met no bottleneck yet
  };
  /// The flows through a capacity. Most have one at a time, so the first has its place here.
  class Members {
   public:
    int size() const { return count_; }
    int operator[](int i) const { return i == 0 ? first_ : more_[static_cast<std::size_t>(i - 1)]; }
    void add(int flow);
    /// The last one takes its place.
    void remove(int flow);

   private:
    int first_ = 0, count_ = 0;
    std::vector<int> more_;
  };
  struct alignas(64) Capacity {  // one line of a cache
    double bytes_per_second = 0;
    Members members;
    double left = 0;  ///< for flows that grow
    int growing = 0;  ///< how many these are
    bool changed = false, touched = false;
    bool binds = false;  ///< it may be the bottleneck of a flow
    bool asked = false;  ///< it takes part in the filling
    double used = 0;     ///< by the flows at their rates; `left` is where that leads, if not asked
    bool far_from_full(double use) const { return use < bytes_per_second * (1 - kFar); }
  };
  /// Far more than rounding, and than what many roundings come to.
  static constexpr double kFar = 1e-6;
  void change(int capacity);
  void open(int flow);
  void fill();
  bool hold_together();
  double now(const Flow& flow) const { return flow.open ? flow.filled : flow.rate; }

  std::vector<Capacity> capacities_;
  std::vector<Flow> flows_;
  std::vector<int> free_;
  std::vector<int> touched_by_change_;  ///< capacities
  std::vector<int> new_;                ///< flows without a bottleneck
  std::vector<int> open_, touched_;     ///< while it settles
  std::vector<std::pair<double, int>> shares_;
};

}  // namespace orrery::sim
