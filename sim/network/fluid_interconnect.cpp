#include "sim/network/fluid_interconnect.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "sim/network/agenda.hpp"
#include "sim/network/max_min.hpp"

namespace orrery::sim {
namespace {

/// Flows that end within this many seconds of each other end together (as SimGrid's do with
/// surf/precision 1e-12).
constexpr double kTogether = 1e-12;

class FluidInterconnect final : public Interconnect {
 public:
  explicit FluidInterconnect(const InterconnectPlan& plan)
      : plan_(plan), sharing_(plan.bytes_per_second) {}

  Timer at(double time, std::uint64_t token) override {
    return timer_of(set_alarm({token, nullptr, 0}, time));
  }

  void cancel(Timer timer) override {
    const int alarm = alarm_of(timer);
    timers_.remove(alarm);
    free_alarms_.push_back(alarm);
  }

  Timer move(Timer timer, double time, std::uint64_t) override {
    timers_.set(alarm_of(timer), time, ++order_);
    return timer;
  }

  void send(int connection, double bytes, double latency_seconds, std::uint64_t token) override {
    const auto& route = plan_.connections[orrery::at(connection)].capacities;
    set_alarm({token, &route, std::round(bytes)}, now_ + latency_seconds);
  }

  void run(NetworkListener& listener) override {
    for (;;) {
      share();
      if (timers_.empty() && ends_.empty()) return;
      now_ = std::max(now_, std::min(next(timers_), next(ends_)));
      ORRERY_ASSERT(now_ < std::numeric_limits<double>::infinity());
      while (next(timers_) <= now_ || next(ends_) <= now_ + kTogether) {
        while (next(timers_) <= now_) ring(listener);
        while (next(ends_) <= now_ + kTogether) end(listener);
      }
    }
  }

 private:
  /// A timer, or the end of a message's latency.
  struct Alarm {
    std::uint64_t token;
    const std::vector<int>* route;  ///< of a message
    double bytes;
  };
  struct Flow {
    std::uint64_t token, order;
    double left, at;  ///< bytes, and when that was true
    double rate;      ///< since then
  };

  static Timer timer_of(int alarm) {
    return reinterpret_cast<Timer>(static_cast<std::uintptr_t>(alarm) + 1);
  }
  static int alarm_of(Timer timer) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(timer)) - 1;
  }
  static double next(const Agenda& agenda) {
    return agenda.empty() ? std::numeric_limits<double>::infinity() : agenda.time();
  }

  int set_alarm(const Alarm& alarm, double time) {
    if (free_alarms_.empty()) {
      free_alarms_.push_back(static_cast<int>(alarms_.size()));
      alarms_.emplace_back();
    }
    const int number = free_alarms_.back();
    free_alarms_.pop_back();
    alarms_[orrery::at(number)] = alarm;
    timers_.set(number, time, ++order_);
    return number;
  }

  void ring(NetworkListener& listener) {
    const int number = timers_.take_first();
    const Alarm alarm = alarms_[orrery::at(number)];
    free_alarms_.push_back(number);
    if (alarm.route == nullptr) return listener.on_timer(alarm.token);
    const int flow = sharing_.add(*alarm.route);
    if (orrery::at(flow) >= flows_.size()) flows_.resize(orrery::at(flow) + 1);
    flows_[orrery::at(flow)] = {alarm.token, ++order_, alarm.bytes, now_, sharing_.rate(flow)};
    // The rate of one that shares is known when all has happened that happens now.
    const double seconds = alarm.bytes == 0 ? 0 : alarm.bytes / sharing_.rate(flow);
    const bool brief = seconds > 0 && seconds <= kTogether;
    if (brief) brief_.push_back(flow);  // or it would end at once, with others of this instant
    ends_.set(flow, brief ? std::numeric_limits<double>::infinity() : now_ + seconds, order_);
  }

  void end(NetworkListener& listener) {
    const int flow = ends_.take_first();
    sharing_.remove(flow);
    listener.on_arrival(flows_[orrery::at(flow)].token);
  }

  /// Gives all flows their present rates.
  void share() {
    if (sharing_.settled() && brief_.empty()) return;
    changed_.clear();
    sharing_.settle(changed_);
    for (const int number : changed_) {
      Flow& flow = flows_[orrery::at(number)];
      flow.left = std::max(0.0, flow.left - (now_ - flow.at) * flow.rate);
      flow.at = now_;
      flow.rate = sharing_.rate(number);
      if (flow.left > 0) ends_.set(number, now_ + flow.left / flow.rate, flow.order);
    }
    for (const int number : brief_) {
      const Flow& flow = flows_[orrery::at(number)];
      ends_.set(number, flow.at + flow.left / flow.rate, flow.order);
    }
    brief_.clear();
  }

  const InterconnectPlan& plan_;
  MaxMin sharing_;
  Agenda timers_, ends_;
  std::vector<Alarm> alarms_;
  std::vector<int> free_alarms_;
  std::vector<Flow> flows_;
  std::vector<int> changed_, brief_;
  std::uint64_t order_ = 0;
};

}  // namespace

std::unique_ptr<Interconnect> make_fluid_interconnect(const InterconnectPlan& plan) {
  return std::make_unique<FluidInterconnect>(plan);
}

}  // namespace orrery::sim
