#include "experiments/execute/outcome_bytes.hpp"

#include <nlohmann/json.hpp>
#include <set>

namespace orrery {
namespace {

using Json = nlohmann::json;

/// Kinds of spans refer to static storage.
std::string_view interned(const std::string& text) {
  static std::set<std::string> all;
  return *all.insert(text).first;
}

Json json_of(const Phase& p) { return {static_cast<int>(p.stage), p.epoch, p.layer}; }
Phase phase_of(const Json& j) { return {static_cast<Stage>(j[0].get<int>()), j[1], j[2]}; }

Json json_of(const EpochCost& cost) {
  const Breakdown& b = cost.breakdown;
  return {cost.seconds, b.compute, b.internal, b.external, b.synchronise,
          b.sample,     b.load,    b.other,    b.hidden,   b.compute_by_kind};
}
EpochCost cost_of(const Json& j) {
  return {j[0], {j[1], j[2], j[3], j[4], j[5], j[6], j[7], j[8], j[9]}};
}

Json json_of(const Span& s) {
  return {static_cast<int>(s.lane),
          s.kind,
          s.communicates,
          s.crosses_servers,
          json_of(s.phase),
          s.begin,
          s.end,
          s.flops,
          s.bytes};
}
Span span_of(const Json& j) {
  return {static_cast<Lane>(j[0].get<int>()),
          interned(j[1]),
          j[2],
          j[3],
          phase_of(j[4]),
          j[5],
          j[6],
          j[7],
          j[8]};
}

Json json_of(const Totals& totals) {
  Json list = Json::object();
  for (const auto& [name, k] : totals.by_kind)
    list[name] = {k.count, k.flops, k.bytes, k.internal, k.external};
  return list;
}
Totals totals_of(const Json& j) {
  Totals totals;
  for (const auto& [name, k] : j.items()) totals.by_kind[name] = {k[0], k[1], k[2], k[3], k[4]};
  return totals;
}

}  // namespace

std::string to_bytes(const RankOutcome& o) {
  Json costs = Json::array(), spans = Json::array(), memory = Json::array();
  for (const EpochCost& cost : o.epochs) costs.push_back(json_of(cost));
  for (const Span& span : o.timeline.spans) spans.push_back(json_of(span));
  for (const Timeline::MemoryMark& mark : o.timeline.memory)
    memory.push_back({mark.at, mark.device_bytes});
  const Json all{{"costs", costs},
                 {"rank", o.timeline.rank},
                 {"spans", spans},
                 {"memory", memory},
                 {"setup", json_of(o.summary.setup)},
                 {"epoch", json_of(o.summary.epoch)},
                 {"epochs_summed", o.summary.epochs},
                 {"evaluation", json_of(o.summary.evaluation)},
                 {"planned_peak", o.summary.peak_device_bytes},
                 {"peak_by_class", o.summary.peak_by_class},
                 {"received_from", o.received_from},
                 {"seconds_to_first_epoch", o.seconds_to_first_epoch},
                 {"final_bytes", o.final_bytes},
                 {"peak_bytes", o.peak_bytes}};
  std::string bytes;
  Json::to_cbor(all, bytes);
  return bytes;
}

RankOutcome outcome_from_bytes(const std::string& bytes) {
  const Json all = Json::from_cbor(bytes);
  RankOutcome o;
  for (const Json& cost : all["costs"]) o.epochs.push_back(cost_of(cost));
  o.timeline.rank = all["rank"];
  for (const Json& span : all["spans"]) o.timeline.spans.push_back(span_of(span));
  for (const Json& mark : all["memory"]) o.timeline.memory.push_back({mark[0], mark[1]});
  o.summary.setup = totals_of(all["setup"]);
  o.summary.epoch = totals_of(all["epoch"]);
  o.summary.epochs = all["epochs_summed"];
  o.summary.evaluation = totals_of(all["evaluation"]);
  o.summary.peak_device_bytes = all["planned_peak"];
  o.summary.peak_by_class = all["peak_by_class"].get<std::map<std::string, std::int64_t>>();
  o.received_from = all["received_from"].get<std::vector<std::int64_t>>();
  o.seconds_to_first_epoch = all["seconds_to_first_epoch"];
  o.final_bytes = all["final_bytes"];
  o.peak_bytes = all["peak_bytes"];
  return o;
}

}  // namespace orrery
