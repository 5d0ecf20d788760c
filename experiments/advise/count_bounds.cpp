#include "experiments/advise/count_bounds.hpp"

#include <algorithm>
#include <limits>

#include "core/strategy/config/strategy_info.hpp"
#include "experiments/predict/prepared.hpp"
#include "experiments/predict/simulate.hpp"
#include "sim/price/least_seconds.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

/// The file of the same training by one rank that has the whole graph.
Json file_of_one_rank(const Experiment& plan) {
  Json file = plan.base;
  file["strategy"] = {{"type", "full_graph"}};
  file["backend"] = "threads";
  for (const char* key : {"cluster", "partition", "simulation"}) file.erase(key);
  return file;
}

/// The ranks together do at least as much of these, however the vertices are divided.
bool is_product(const Op& op) {
  return std::holds_alternative<SpMM>(op) || std::holds_alternative<Sddmm>(op) ||
         std::holds_alternative<Gemm>(op);
}

/// Products of each epoch but the first (if there are others), on the computing lane.
std::vector<std::vector<Op>> operations_by_epoch(const Program& program) {
  std::map<int, std::vector<Op>> epochs;
  Phase phase;
  for (const Step& step : program.steps) {
    if (const auto* mark = std::get_if<PhaseStep>(&step)) phase = mark->phase;
    const auto* submit = std::get_if<SubmitStep>(&step);
    if (submit == nullptr || !phase.in_epoch()) continue;
    if (submit->lane == Lane::compute && is_product(submit->op))
      epochs[phase.epoch].push_back(submit->op);
  }
  std::vector<std::vector<Op>> lists;
  for (auto& [epoch, ops] : epochs)
    if (epoch > 0 || epochs.size() == 1) lists.push_back(std::move(ops));
  return lists;
}

/// What can come into one device, and into one server, in a second.
struct Inbound {
  double device = 0, server = 0;
};
Inbound inbound_of(const Cluster& cluster) {
  std::vector<double> of_node(cluster.nodes.size(), 0), of_server(at(cluster.servers()), 0);
  for (const ClusterLink& link : cluster.links) {
    const ClusterNode& from = cluster.nodes[at(link.from)];
    const ClusterNode& to = cluster.nodes[at(link.to)];
    of_node[at(link.from)] += link.bytes_per_second;
    of_node[at(link.to)] += link.bytes_per_second;
    if (from.server == to.server) continue;
    for (const int server : {from.server, to.server})
      if (server != kNoServer) of_server[at(server)] += link.bytes_per_second;
  }
  Inbound most;
  for (const Device& device : cluster.devices)
    most.device = std::max(most.device, of_node[at(device.node)]);
  for (const double rate : of_server) most.server = std::max(most.server, rate);
  return most;
}

/// Rows of products that come to ranks which have a device each, and into servers.
double least_broadcast_seconds(const Experiment& plan, const std::vector<Op>& operations) {
  const std::vector<int>& devices = plan.devices;
  const double ranks = plan.ranks(), servers = plan.placement().servers();
  double bytes = 0;
  for (const Op& op : operations)
    if (const auto* product = std::get_if<SpMM>(&op))
      bytes += static_cast<double>(std::min(product->x.bytes(), product->y.bytes()));
  const Inbound inbound = inbound_of(*plan.cluster);
  double seconds = 0;
  const bool shared = std::any_of(devices.begin(), devices.end(), [&](int device) {
    return std::count(devices.begin(), devices.end(), device) > 1;
  });
  if (!shared && inbound.device > 0) seconds = bytes * (ranks - 1) / ranks / inbound.device;
  if (inbound.server > 0)
    seconds = std::max(seconds, bytes * (servers - 1) / servers / inbound.server);
  return seconds;
}

}  // namespace

const std::vector<Op>& CountBounds::operations_of(const Experiment& plan, const ProblemData& data) {
  const std::string file = file_of_one_rank(plan).dump();
  const auto [place, is_new] = operations_.try_emplace(file);
  if (!is_new) return place->second;
  const PreparedExperiment prepared = prepare(parse_experiments(file, plan.name, {}).front(), data);
  const TrainingBody body = prepared.body();
  const int epochs = std::min(plan.simulation.epochs, body.epochs());
  const Programs programs = record_checked_shared(body, epochs, {});
  auto lists = operations_by_epoch(*programs.front());
  if (!lists.empty())
    place->second =
        std::move(*std::min_element(lists.begin(), lists.end(), [](const auto& a, const auto& b) {
          return a.size() < b.size();
        }));
  return place->second;
}

const sim::DeviceProfile& CountBounds::profile_of_devices(const Experiment& plan) {
  const Json& file = plan.resolved;
  const std::string key = Json{file["cluster"], file["simulation"]}.dump();
  const auto known = profiles_.find(key);
  return known != profiles_.end() ? known->second
                                  : profiles_.emplace(key, profile_of(plan)).first->second;
}

double CountBounds::least_epoch_seconds(const Experiment& plan, const ProblemData& data) {
  if (!has_whole_gradients(plan.strategy)) return 0;
  const std::vector<Op>& operations = operations_of(plan, data);
  const sim::DeviceProfile& profile = profile_of_devices(plan);
  const sim::Division division =
      info_of(plan.strategy).splits_columns ? sim::Division::any : sim::Division::by_rows;
  double seconds = 0;
  for (const Op& op : operations)
    seconds += sim::least_seconds(profile, op, kernel_threads(plan), division);
  seconds /= plan.ranks();
  if (plan.strategy.type == "spmm_1d")
    seconds = std::max(seconds, least_broadcast_seconds(plan, operations));
  return seconds;
}

}  // namespace orrery
