#include "sim/network/simgrid_interconnect.hpp"

#include <fmt/core.h>

#include <array>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery::sim {
namespace {

namespace s4u = simgrid::s4u;
using KernelTimer = simgrid::kernel::timer::Timer;

/// SimGrid's own models inflate latencies and favour flows of short routes. With CM02, no TCP
/// window, no weights by bandwidth and no cross traffic, links without latency and exactly one
/// second of it on a pseudo-link per sender, sharing is max-min fair; the latency callback then
/// states the true one. (A single pseudo-link for all senders would tie all flows into one system
/// of equations, a hundred times slower.)
constexpr std::array kSettings{"network/model:CM02", "network/TCP-gamma:0", "network/weight-S:0",
                               "network/crosstraffic:0", "surf/precision:1e-12"};
constexpr double kUnlimited = 1e18;

s4u::Engine& make_engine() {
  std::vector<std::string> arguments{"orrery-sim", "--log=root.thres:error"};
  for (const char* setting : kSettings) arguments.push_back(fmt::format("--cfg={}", setting));
  std::vector<char*> pointers;
  for (std::string& a : arguments) pointers.push_back(a.data());
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  return *new s4u::Engine(&count, pointers.data());  // lives as long as the process
}

class SimGridInterconnect final : public Interconnect {
 public:
  explicit SimGridInterconnect(const InterconnectPlan& plan) : engine_(make_engine()) {
    auto* zone = s4u::create_full_zone("cluster");
    std::vector<s4u::Link*> links, senders;
    for (std::size_t i = 0; i < plan.bytes_per_second.size(); ++i)
      links.push_back(zone->create_link(fmt::format("l{}", i), plan.bytes_per_second[i]));
    for (int i = 0; i < plan.ends; ++i) {
      hosts_.push_back(zone->create_host(fmt::format("h{}", i), 1.0));
      auto* sender = zone->create_link(fmt::format("p{}", i), kUnlimited);
      sender->set_latency(1.0)->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE);
      senders.push_back(sender);
    }
    zone->get_network_model()->set_lat_factor_cb([this](double, const s4u::Host*, const s4u::Host*,
                                                        const std::vector<s4u::Link*>&,
                                                        const std::unordered_set<s4u::NetZone*>&) {
      asked_for_latency_ = true;
      return latency_seconds_;
    });
    for (const auto& connection : plan.connections) {
      ends_.emplace_back(connection.from, connection.to);
      std::vector<s4u::LinkInRoute> route{s4u::LinkInRoute(senders[orrery::at(connection.from)])};
      for (const int c : connection.capacities) route.emplace_back(links[orrery::at(c)]);
      zone->add_route(hosts_[orrery::at(connection.from)]->get_netpoint(),
                      hosts_[orrery::at(connection.to)]->get_netpoint(), nullptr, nullptr, route,
                      false);
    }
    zone->seal();
    s4u::Activity::on_completion_cb([this](const s4u::Activity& activity) { arrived(activity); });
  }

  Timer at(double time, std::uint64_t token) override {
    return KernelTimer::set(time, [this, token] {
      now_ = s4u::Engine::get_clock();
      listener_->on_timer(token);
    });
  }
  void cancel(Timer timer) override { static_cast<KernelTimer*>(timer)->remove(); }
  Timer move(Timer timer, double time, std::uint64_t token) override {
    cancel(timer);
    return at(time, token);
  }

  void send(int connection, double bytes, double latency_seconds, std::uint64_t token) override {
    const auto [from, to] = ends_[orrery::at(connection)];
    auto message = s4u::Comm::sendto_init(hosts_[orrery::at(from)], hosts_[orrery::at(to)]);
    message->set_payload_size(static_cast<std::uint64_t>(bytes + 0.5));
    under_way_.emplace(message.get(), std::pair{message, token});
    latency_seconds_ = latency_seconds;
    asked_for_latency_ = false;
    message->vetoable_start();
    ORRERY_ASSERT(asked_for_latency_);
  }

  void run(NetworkListener& listener) override {
    listener_ = &listener;
    engine_.run();
    ORRERY_ASSERT(under_way_.empty());
  }

 private:
  void arrived(const s4u::Activity& activity) {
    const auto found = under_way_.find(&activity);
    if (found == under_way_.end()) return;
    const auto [message, token] = std::move(found->second);  // kept until the call returns
    under_way_.erase(found);
    now_ = s4u::Engine::get_clock();
    listener_->on_arrival(token);
  }

  s4u::Engine& engine_;
  std::vector<s4u::Host*> hosts_;
  std::vector<std::pair<int, int>> ends_;  ///< of each connection
  std::unordered_map<const s4u::Activity*, std::pair<s4u::CommPtr, std::uint64_t>> under_way_;
  double latency_seconds_ = 0;  ///< of the message being started
  bool asked_for_latency_ = false;
  NetworkListener* listener_ = nullptr;
};

}  // namespace

std::unique_ptr<Interconnect> make_simgrid_interconnect(const InterconnectPlan& plan) {
  return std::make_unique<SimGridInterconnect>(plan);
}

}  // namespace orrery::sim
