#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/cost/equations.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/config/version.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

struct EquationsOptions {
  std::string paper;
  bool json = false;
};

/// Whole numbers with all digits, others with six.
std::string text_of(double value) {
  constexpr double kMostDigits = 1e15;
  if (value == std::floor(value) && std::abs(value) < kMostDigits)
    return fmt::format("{:.0f}", value);
  return fmt::format("{:.6g}", value);
}

void print(const std::vector<cost::Term>& terms, const char* indent) {
  std::size_t widest = 0;
  for (const cost::Term& term : terms) widest = std::max(widest, term.symbol.size());
  for (const cost::Term& term : terms)
    fmt::print("{}{:<{}} = {}{}{}{}\n", indent, term.symbol, widest, text_of(term.value),
               term.unit.empty() ? "" : " ", term.unit,
               term.meaning.empty() ? "" : fmt::format("  ({})", term.meaning));
}

Json to_json(const std::vector<cost::Term>& terms) {
  Json list = Json::array();
  for (const cost::Term& term : terms) {
    list.push_back({{"symbol", term.symbol}, {"meaning", term.meaning}, {"value", term.value}});
    if (!term.unit.empty()) list.back()["unit"] = term.unit;
  }
  return list;
}

Json to_json(const cost::Equation& equation) {
  return {{"function", equation.function},       {"paper", equation.paper},
          {"source", equation.source},           {"title", equation.title},
          {"formula", equation.formula},         {"terms", to_json(equation.terms)},
          {"results", to_json(equation.results)}};
}

void print_equations(const EquationsOptions& options) {
  const std::vector<cost::Equation> list =
      options.paper.empty() ? cost::equations() : cost::equations_of(options.paper);
  if (options.json) {
    Json out = Json::array();
    for (const cost::Equation& equation : list) out.push_back(to_json(equation));
    fmt::print("{}\n", Json({{"schema_version", kSchemaVersion}, {"equations", out}}).dump());
    return;
  }
  for (const cost::Equation& equation : list) {
    fmt::print("{} ({})\n  {}\n", equation.title, equation.source, equation.formula);
    fmt::print("  for example, with\n");
    print(equation.terms, "    ");
    fmt::print("  it is\n");
    print(equation.results, "    ");
    fmt::print("\n");
  }
  fmt::print(
      "{} equations. \"orrery run FILE --backend model\" evaluates those that apply to an "
      "experiment.\n",
      list.size());
}

}  // namespace

void add_equations_command(CLI::App& app) {
  auto options = std::make_shared<EquationsOptions>();
  CLI::App* command = app.add_subcommand(
      "equations", "Print the papers' equations: source, formula, and an example that is computed");
  command->add_option("PAPER", options->paper,
                      "granndis, mg-gcn, cagnet, deal or catgnn; all of them if left out");
  command->add_flag("--json", options->json, "one JSON object as the last line of standard output");
  command->footer("Example: orrery equations granndis");
  command->callback([options] { print_equations(*options); });
}

}  // namespace orrery
