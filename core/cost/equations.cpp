#include "core/cost/equations.hpp"

#include <array>
#include <utility>

#include "core/cost/require.hpp"

namespace orrery::cost {
namespace {

struct Paper {
  std::string_view name;
  std::vector<Equation> (*equations)();
};
constexpr std::array<Paper, 5> kPapers{{{"granndis", equations_of_granndis},
                                        {"mg-gcn", equations_of_mggcn},
                                        {"cagnet", equations_of_cagnet},
                                        {"deal", equations_of_deal},
                                        {"catgnn", equations_of_catgnn}}};

}  // namespace

std::vector<Equation> equations() {
  std::vector<Equation> all;
  for (const Paper& paper : kPapers)
    for (Equation& equation : paper.equations()) all.push_back(std::move(equation));
  return all;
}

std::vector<Equation> equations_of(std::string_view paper) {
  std::string names;
  for (const Paper& known : kPapers) {
    if (known.name == paper) return known.equations();
    names.append(names.empty() ? "" : ", ").append(known.name);
  }
  std::string what = "found '";
  what.append(paper).append("', expected one of ").append(names);
  require(false, what);
  return {};
}

}  // namespace orrery::cost
