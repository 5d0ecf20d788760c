#include "core/partition/methods/partitioner.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/base/name.hpp"

namespace orrery {
namespace {

std::vector<Partitioner>& added_methods() {
  static std::vector<Partitioner> methods;
  return methods;
}

/// Why a method cannot be listed after `others`; empty: it can.
std::string problem_of(const Partitioner& method, const std::vector<Partitioner>& others) {
  if (!is_name(method.name)) return fmt::format("is no name: {}", kNameRule);
  for (const Partitioner& other : others)
    if (other.name == method.name) return "is the name of two partitioners: rename one";
  if (!std::visit([](const auto& cut) { return static_cast<bool>(cut); }, method.cut))
    return "has no function that cuts";
  for (const MethodParameter& parameter : method.parameters)
    if (parameter.key && !(parameter.key->least <= parameter.key->fallback &&
                           parameter.key->fallback <= parameter.key->most))
      return fmt::format("has a parameter \"{}\" whose default is not within its range",
                         parameter.name);
  return "";
}

}  // namespace

MethodParameter number_parameter(std::string name, NumberKey key) {
  const auto value = [name, fallback = key.fallback](const PartitionOptions& o) -> ParameterValue {
    const auto asked = o.numbers.find(name);
    return asked == o.numbers.end() ? fallback : asked->second;
  };
  return {std::move(name), value, std::move(key)};
}

double number_of(const MethodParameter& parameter, const PartitionOptions& options) {
  return std::get<double>(parameter.value(options));
}

AddPartitioner::AddPartitioner(Partitioner method) { added_methods().push_back(std::move(method)); }

std::vector<Partitioner> with_built_in(std::vector<Partitioner> added) {
  std::vector<Partitioner> all{spring_partitioner(),       metis_partitioner(),
                               ptscotch_partitioner(),     two_ps_l_partitioner(),
                               hdrf_partitioner(),         powergraph_partitioner(),
                               dbh_partitioner(),          ldg_partitioner(),
                               fennel_partitioner(),       hash_partitioner(),
                               random_partitioner(),       block_partitioner(),
                               degree_block_partitioner(), training_block_partitioner(),
                               file_partitioner()};
  for (Partitioner& method : added) {
    if (const std::string problem = problem_of(method, all); !problem.empty())
      throw ConfigError("plugins", fmt::format("\"{}\" {}", method.name, problem));
    all.push_back(std::move(method));
  }
  return all;
}

const std::vector<Partitioner>& partitioners() {
  static const std::vector<Partitioner> all = with_built_in(added_methods());
  return all;
}

const Partitioner* find_partitioner(const std::string& name) {
  for (const Partitioner& method : partitioners())
    if (method.name == name) return &method;
  return nullptr;
}

nlohmann::ordered_json method_parameters(const PartitionOptions& options) {
  auto told = nlohmann::ordered_json::object();
  const Partitioner* method = find_partitioner(options.method);
  if (method == nullptr) return told;
  for (const MethodParameter& parameter : method->parameters)
    std::visit([&](const auto& value) { told[parameter.name] = value; }, parameter.value(options));
  if (method->drawn) told["seed"] = options.seed;
  return told;
}

}  // namespace orrery
