#include "experiments/commands/samples_report.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "core/base/index.hpp"
#include "core/graph/files/npy.hpp"
#include "experiments/commands/grouped.hpp"
#include "experiments/config/version.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

/// The columns of the file, apart.
struct Columns {
  std::vector<std::int64_t> draw, row, neighbour;
};

Columns columns_of(const std::string& path) {
  const NpyArray file(path);
  const auto values = file.values<std::int64_t>({-1, 3});
  Columns columns;
  for (std::size_t i = 0; i < values.size(); i += 3) {
    columns.draw.push_back(values[i]);
    columns.row.push_back(values[i + 1]);
    columns.neighbour.push_back(values[i + 2]);
  }
  return columns;
}

bool believed(const SampleCheck& check) {
  return !check.is_wrong() && !check.is_biased() && check.was_tested;
}

std::string text_of(const SampleCheck::Wrong& wrong) {
  if (wrong.count == 0) return "yes";
  return fmt::format("NO: {} times, first in row {} of the file", grouped(wrong.count),
                     wrong.first);
}

std::string text_of(const Unlikely& seen, const char* what) {
  if (seen.tested == 0) return fmt::format("not tested: no {} expected 5 times", what);
  const double p = seen.p();
  return fmt::format(
      "{}: p = {:.2g} ({} {}s; the least likely in row {})",
      p < SampleCheck::kLeast ? fmt::format("NO, below {:g}", SampleCheck::kLeast) : "yes", p,
      grouped(seen.tested), what, seen.row);
}

Json json_of(const SampleCheck::Wrong& wrong) {
  return {{"count", wrong.count}, {"first", wrong.count > 0 ? Json(wrong.first) : Json()}};
}

Json json_of(const Unlikely& seen) {
  return {{"tested", seen.tested},
          {"p", seen.tested > 0 ? Json(seen.p()) : Json()},
          {"row", seen.row >= 0 ? Json(seen.row) : Json()}};
}

void print(const SampleCheck& check, const std::string& samples, const CheckedRule& rule) {
  const auto row = [](const char* what, const std::string& found) {
    fmt::print("  {:<22}{}\n", what, found);
  };
  const std::string wanted = rule.fanout < 0
                                 ? "all neighbours"
                                 : fmt::format("{} neighbours {} replacement", rule.fanout,
                                               rule.replacement ? "with" : "without");
  fmt::print("{}: {} draws of {} rows, {}\n", samples, grouped(check.draws), grouped(check.rows),
             wanted);
  row("edges exist", text_of(check.absent));
  row("right number", text_of(check.miscounted));
  if (!rule.replacement) row("none twice", text_of(check.repeated));
  if (rule.fanout >= 0) {
    row("each equally often", text_of(check.each, "row"));
    if (!rule.replacement && rule.fanout > 1)
      row("pairs equally often", text_of(check.pairs, "pair"));
  }
  if (believed(check))
    fmt::print("These samples follow their rule, as far as this number of draws can tell.\n");
  else if (check.is_wrong() || check.is_biased())
    fmt::print("These samples do not follow their rule.\n");
  else
    fmt::print(
        "Too few draws to decide: each neighbour of some row must be expected 5 times (draws x "
        "fanout / degree) and, without replacement, left out 5 times.\n");
}

}  // namespace

bool report_samples(const Csr& graph, const std::string& samples, const CheckedRule& rule,
                    bool as_json) {
  const Columns columns = columns_of(samples);
  const SampleCheck check =
      check_samples(graph, {columns.draw, columns.row, columns.neighbour}, rule);
  if (as_json) {
    const Json json = {{"schema_version", kSchemaVersion},
                       {"draws", check.draws},
                       {"rows", check.rows},
                       {"absent", json_of(check.absent)},
                       {"miscounted", json_of(check.miscounted)},
                       {"repeated", json_of(check.repeated)},
                       {"each", json_of(check.each)},
                       {"pairs", json_of(check.pairs)},
                       {"tested", check.was_tested},
                       {"right", believed(check)}};
    fmt::print("{}\n", json.dump());
  } else {
    print(check, samples, rule);
  }
  return believed(check);
}

}  // namespace orrery
