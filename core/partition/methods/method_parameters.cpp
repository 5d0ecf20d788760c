#include "core/partition/methods/method_parameters.hpp"

#include <nlohmann/json.hpp>

#include "core/partition/partition_options.hpp"

namespace orrery {

nlohmann::ordered_json method_parameters(const PartitionOptions& o) {
  const std::string& m = o.method;
  auto p = nlohmann::ordered_json::object();
  if (m == "metis") {
    p = {{"objective", o.metis.volume ? "volume" : "cut"}, {"servers", o.metis.servers}};
    for (const Constraint constraint : o.metis.constraints)
      p["constraints"].push_back(name_of(constraint));
    p["balance"] = o.metis.balance;
  }
  if (m == "file") p = {{"file", o.file}};
  if (m == "powergraph") p = {{"balance", o.powergraph.balance}};
  if (m == "hdrf") p = {{"lambda", o.hdrf.lambda}, {"balance", o.hdrf.balance}};
  if (m == "2ps-l") p = {{"max_volume", o.two_ps_l.max_volume}, {"balance", o.two_ps_l.balance}};
  if (m == "spring")
    p = {{"max_volume", o.spring.max_volume},
         {"balance", o.spring.balance},
         {"merge", o.spring.persistent ? "persistent" : "representative"},
         {"refine", o.spring.refine}};
  if (m == "ldg") p = {{"balance", o.ldg.balance}};
  if (m == "fennel") p = {{"gamma", o.fennel.gamma}, {"balance", o.fennel.balance}};
  for (const char* drawn : {"metis", "random", "hash", "dbh", "powergraph", "hdrf", "2ps-l"})
    if (m == drawn) p["seed"] = o.seed;
  return p;
}

}  // namespace orrery
