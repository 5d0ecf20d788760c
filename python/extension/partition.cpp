// Cutting graphs that Python holds.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/partition/methods/partitioner.hpp"
#include "core/partition/partition_options.hpp"
#include "python/extension/arrays.hpp"
#include "python/extension/parts_of_module.hpp"

namespace orrery::python {
namespace {

/// A setting of some methods: the keys of "partition" in an experiment file that are numbers.
struct NumberSetting {
  const char* key;
  std::vector<std::string> methods;
  double least;  ///< not itself allowed, but for whole numbers
  double most;
  bool whole;
  void (*set)(PartitionOptions&, double);
};

const std::vector<NumberSetting>& number_settings() {
  static const std::vector<NumberSetting> all{
      {"balance",
       {"metis", "ptscotch", "powergraph", "hdrf", "2ps-l", "spring", "ldg", "fennel"},
       1,
       100,
       false,
       [](PartitionOptions& o, double value) {
         for (double* balance :
              {&o.metis.balance, &o.ptscotch.balance, &o.powergraph.balance, &o.hdrf.balance,
               &o.two_ps_l.balance, &o.spring.balance, &o.ldg.balance, &o.fennel.balance})
           *balance = value;
       }},
      {"processes",
       {"ptscotch"},
       1,
       1024,
       true,
       [](PartitionOptions& o, double value) { o.ptscotch.processes = static_cast<int>(value); }},
      {"gamma",
       {"fennel"},
       1,
       10,
       false,
       [](PartitionOptions& o, double value) { o.fennel.gamma = value; }},
      {"cluster_volume",
       {"2ps-l"},
       0,
       1000,
       false,
       [](PartitionOptions& o, double value) { o.two_ps_l.max_volume = value; }},
      {"lambda",
       {"hdrf"},
       -std::numeric_limits<double>::denorm_min(),
       1000,
       false,
       [](PartitionOptions& o, double value) { o.hdrf.lambda = value; }},
      {"max_volume",
       {"spring"},
       0,
       1000,
       false,
       [](PartitionOptions& o, double value) { o.spring.max_volume = value; }},
      {"refine", {"spring"}, 0, 1000, true, [](PartitionOptions& o, double value) {
         o.spring.refine = static_cast<int>(value);
       }}};
  return all;
}

/// A setting of one method whose value is one of some words.
struct WordSetting {
  const char *key, *method;
  std::vector<std::string> words;
  void (*set)(PartitionOptions&, const std::string&);
};

const std::vector<WordSetting>& word_settings() {
  static const std::vector<WordSetting> all{
      {"objective",
       "metis",
       {"cut", "volume"},
       [](PartitionOptions& o, const std::string& word) { o.metis.volume = word == "volume"; }},
      {"merge",
       "spring",
       {"representative", "persistent"},
       [](PartitionOptions& o, const std::string& word) {
         o.spring.persistent = word == "persistent";
       }}};
  return all;
}

void set_number(PartitionOptions& options, const NumberSetting& setting, const nb::handle& value) {
  double number = 0;
  if (PyBool_Check(value.ptr()) || !nb::try_cast(value, number))
    throw ConfigError(setting.key, fmt::format("expected a number, found {}",
                                               nb::cast<std::string>(nb::repr(value))));
  const bool fits = setting.whole ? number >= setting.least &&
                                        number == static_cast<double>(static_cast<std::int64_t>(
                                                      std::clamp(number, -1e9, 1e9)))
                                  : number > setting.least;
  if (!fits || !(number <= setting.most))
    throw ConfigError(
        setting.key,
        fmt::format("expected {}, found {}",
                    setting.whole
                        ? fmt::format("a whole number from {} to {}", setting.least, setting.most)
                        : fmt::format("more than {:g}, and at most {:g}",
                                      std::max(setting.least, 0.0), setting.most),
                    number));
  setting.set(options, number);
}

void set_constraints(PartitionOptions& options, const nb::handle& value) {
  static const std::vector<std::pair<std::string, Constraint>> names{
      {"work", Constraint::work},
      {"vertices", Constraint::vertices},
      {"edges", Constraint::edges},
      {"training", Constraint::training},
      {"validation", Constraint::validation},
      {"test", Constraint::test}};
  options.metis.constraints.clear();
  for (const nb::handle item : value) {
    const auto name = nb::cast<std::string>(nb::str(item));
    const auto found =
        std::ranges::find(names, name, [](const auto& entry) { return entry.first; });
    if (found == names.end())
      throw ConfigError("constraints", fmt::format("unknown \"{}\"; there are work, vertices, "
                                                   "edges, training, validation, test",
                                                   name));
    options.metis.constraints.push_back(found->second);
  }
  if (options.metis.constraints.empty())
    throw ConfigError("constraints", "expected at least one, found none");
}

std::vector<std::string> keys_of(const std::string& method) {
  std::vector<std::string> keys;
  for (const auto& setting : number_settings())
    if (std::ranges::count(setting.methods, method) > 0) keys.emplace_back(setting.key);
  for (const auto& setting : word_settings())
    if (setting.method == method) keys.emplace_back(setting.key);
  if (method == "metis" || method == "ptscotch") keys.emplace_back("constraints");
  return keys;
}

void set_option(PartitionOptions& options, const std::string& key, const nb::handle& value) {
  const auto known = keys_of(options.method);
  if (std::ranges::count(known, key) == 0)
    throw ConfigError(key, known.empty() ? fmt::format("{} takes no settings", options.method)
                                         : fmt::format("is no setting of {}, which has: {}",
                                                       options.method, fmt::join(known, ", ")));
  for (const auto& setting : number_settings())
    if (setting.key == key) return set_number(options, setting, value);
  for (const auto& setting : word_settings()) {
    if (setting.key != key) continue;
    const auto word = nb::cast<std::string>(nb::str(value));
    if (std::ranges::count(setting.words, word) == 0)
      throw ConfigError(
          key, fmt::format("expected {}, found \"{}\"", fmt::join(setting.words, " or "), word));
    return setting.set(options, word);
  }
  set_constraints(options, value);
}

std::vector<Split> split_of(const Array<std::uint8_t>& values, std::int64_t vertices) {
  if (values.shape(0) != 0 && values.shape(0) != at(vertices))
    throw ShapeError(fmt::format("split: expected one number for each of {} vertices, found {}",
                                 vertices, values.shape(0)));
  std::vector<Split> split;
  for (const std::uint8_t value : span_of(values)) {
    if (value > 2 && value != 255)
      throw DataError(fmt::format("split[{}]", split.size()), "",
                      fmt::format("expected 0 (train), 1 (validation), 2 (test) or 255 (none), "
                                  "found {}",
                                  value));
    split.push_back(static_cast<Split>(value));
  }
  return split;
}

auto partition(const Csr& graph, int parts, const std::string& method, std::uint64_t seed,
               const Array<std::uint8_t>& split, const nb::dict& settings, int threads) {
  constexpr int kMostParts = 65536;  // as in experiment files
  require_threads(threads);
  if (graph.rows != graph.cols) throw ShapeError("partition: expected a square graph");
  if (parts < 1 || parts > kMostParts)
    throw ConfigError("parts", fmt::format("expected 1 to {}, found {}", kMostParts, parts));
  PartitionOptions options;
  options.method = method;
  options.seed = seed;
  if (method == "file")
    throw ConfigError("method", "a method that only reads an existing partition needs no call");
  if (find_partitioner(method) != nullptr)  // else partition_graph names the allowed ones
    for (const auto& [key, value] : settings)
      set_option(options, nb::cast<std::string>(key), value);
  const std::vector<Split> of_vertices = split_of(split, graph.rows);
  Partition made;
  {
    const Computing computing(threads);
    made = partition_graph(graph, parts, options, of_vertices);
  }
  return given_away(std::move(made.owner));
}

nb::list methods() {
  nb::list all;
  for (const Partitioner& method : partitioners()) {
    if (method.name == "file") continue;
    nb::dict one;
    one["name"] = method.name;
    one["description"] = method.description;
    one["drawn"] = method.drawn;
    one["settings"] = nb::list();
    for (const std::string& key : keys_of(method.name))
      nb::cast<nb::list>(one["settings"]).append(key);
    all.append(one);
  }
  return all;
}

}  // namespace

void add_partition(nb::module_& module) {
  using namespace nb::literals;
  module.def("partition", &partition, "graph"_a, "parts"_a, "method"_a, "seed"_a,
             "split"_a.noconvert(), "settings"_a, "threads"_a);
  module.def("partition_methods", &methods);
}

}  // namespace orrery::python
