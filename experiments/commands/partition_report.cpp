#include "experiments/commands/partition_report.hpp"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <numeric>

#include "core/base/index.hpp"
#include "core/base/units.hpp"
#include "experiments/config/version.hpp"
#include "experiments/results/table.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

void best_first(std::vector<CutReport>& reports) {
  std::stable_sort(reports.begin(), reports.end(), [](const CutReport& a, const CutReport& b) {
    return a.metrics.replication_factor < b.metrics.replication_factor;
  });
}

std::int64_t most_of(const std::vector<std::int64_t>& rows) {
  return *std::max_element(rows.begin(), rows.end());
}

std::int64_t sum_of(const std::vector<std::int64_t>& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
}

double over_mean(const std::vector<std::int64_t>& of_parts) {
  return static_cast<double>(most_of(of_parts)) * static_cast<double>(of_parts.size()) /
         static_cast<double>(sum_of(of_parts));
}

Json volumes_json(const std::vector<StrategyVolume>& volumes) {
  Json list = Json::array();
  for (const StrategyVolume& v : volumes) {
    Json one{{"strategy", v.strategy}, {"ranks", v.ranks}};
    one["bytes_per_epoch"] = v.bytes ? Json(*v.bytes) : Json();
    if (!v.bytes) one["why_not"] = v.why_not;
    list.push_back(std::move(one));
  }
  return list;
}

std::string clusters_text(const ClusterSizes& c) {
  return fmt::format("{} of {:.1f} ± {:.1f} vertices", c.count, c.mean, c.deviation);
}

}  // namespace

void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

std::int64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

std::optional<double> training_balance(const Partition& partition,
                                       const std::vector<Split>& split) {
  std::vector<std::int64_t> training(static_cast<std::size_t>(partition.parts));
  for (std::size_t v = 0; v < split.size(); ++v)
    if (split[v] == Split::train) ++training[at(partition.owner[v])];
  if (sum_of(training) == 0) return std::nullopt;
  return over_mean(training);
}

std::vector<std::pair<std::string, double>> type_balances(const Partition& partition,
                                                          const TypedGraph* typed) {
  std::vector<std::pair<std::string, double>> balances;
  if (typed == nullptr) return balances;
  for (const VertexType& type : typed->types) {
    if (type.count == 0) continue;
    std::vector<std::int64_t> of_type(static_cast<std::size_t>(partition.parts));
    for (std::int64_t v = type.first; v < type.first + type.count; ++v)
      ++of_type[at(partition.owner[at(v)])];
    balances.emplace_back(type.name, over_mean(of_type));
  }
  return balances;
}

Json to_json(const CutReport& r) {
  const auto count = [](const std::optional<ClusterSizes>& c) {
    return c ? Json(c->count) : Json();
  };
  const auto sizes = [](const std::optional<ClusterSizes>& c) {
    return c ? Json{{"mean", c->mean}, {"deviation", c->deviation}, {"single", c->single}} : Json();
  };
  Json types;
  for (const auto& [type, balance] : r.type_balances) types[type] = balance;
  return {{"schema_version", kSchemaVersion},
          {"method", r.method},
          {"parts", r.parts},
          {"replication_factor", r.metrics.replication_factor},
          {"edge_cut", r.metrics.edge_cut},
          {"balance", r.metrics.vertex_balance},
          {"edge_balance", r.metrics.edge_balance},
          {"training_balance", r.training_balance ? Json(*r.training_balance) : Json()},
          {"type_balances", types},
          {"halo_rows", r.metrics.halo_rows.front()},
          {"halo_rows_by_hop", r.metrics.halo_rows},
          {"communication", volumes_json(r.volumes)},
          {"seconds", r.seconds},
          {"edges_per_second", r.edges_per_second},
          {"peak_rss_bytes", r.peak_resident_bytes},
          {"clusters_before", count(r.before)},
          {"clusters_after", count(r.after)},
          {"cluster_size_before", sizes(r.before)},
          {"cluster_size_after", sizes(r.after)}};
}

std::string describe(const CutReport& r) {
  const CutMetrics& m = r.metrics;
  std::string text = fmt::format(
      "  replication factor  {:.3f}   vertices held with complete neighbourhoods / vertices\n"
      "  edge cut            {:.1f} %  of the edges lead to another part\n"
      "  balance             {:.3f}   largest part / mean part, in vertices\n"
      "  balance of edges    {:.3f}   the same, in edges at its vertices\n",
      m.replication_factor, 100 * m.edge_cut, m.vertex_balance, m.edge_balance);
  if (r.training_balance)
    text += fmt::format("  balance of training {:.3f}   the same, in training vertices\n",
                        *r.training_balance);
  for (const auto& [type, balance] : r.type_balances)
    text += fmt::format("  balance of type     {:.3f}   the same, in vertices of type {}\n",
                        balance, type);
  for (std::size_t hop = 0; hop < m.halo_rows.size(); ++hop)
    text += fmt::format(
        "  halo rows, hop {}    {} at most, {} in all parts: distinct vertices of other parts\n",
        hop + 1, most_of(m.halo_rows[hop]), sum_of(m.halo_rows[hop]));
  for (const StrategyVolume& v : r.volumes)
    text += v.bytes ? fmt::format("  {:18}  {} received in an epoch by all {} ranks\n", v.strategy,
                                  human_bytes(*v.bytes), v.ranks)
                    : fmt::format("  {:18}  cannot use this cut: {}\n", v.strategy, v.why_not);
  if (r.before && r.after)
    text += fmt::format("  clusters            {}; merged: {}\n", clusters_text(*r.before),
                        clusters_text(*r.after));
  return text + fmt::format("  time                {}   {} edges/s; peak memory {}\n",
                            human_seconds(r.seconds), human_count(r.edges_per_second),
                            human_bytes(r.peak_resident_bytes));
}

std::string comparison_table(std::vector<CutReport> reports, int width) {
  best_first(reports);
  std::vector<std::string> header{"method",  "replication", "edge cut",    "halo rows",
                                  "balance", "of edges",    "of training", "time",
                                  "edges/s", "peak memory"};
  for (const StrategyVolume& v : reports.front().volumes) header.push_back(v.strategy + "/epoch");
  Table table(header);
  for (const CutReport& r : reports) {
    std::vector<std::string> row{
        r.method,
        fmt::format("{:.3f}", r.metrics.replication_factor),
        fmt::format("{:.1f} %", 100 * r.metrics.edge_cut),
        fmt::format("{}", sum_of(r.metrics.halo_rows.front())),
        fmt::format("{:.2f}", r.metrics.vertex_balance),
        fmt::format("{:.2f}", r.metrics.edge_balance),
        r.training_balance ? fmt::format("{:.2f}", *r.training_balance) : "-",
        human_seconds(r.seconds),
        human_count(r.edges_per_second),
        human_bytes(r.peak_resident_bytes)};
    for (const StrategyVolume& v : r.volumes) row.push_back(v.bytes ? human_bytes(*v.bytes) : "-");
    table.add(row);
  }
  return table.text(width);
}

}  // namespace orrery
