#include "core/runtime/check/check.hpp"

#include <fmt/core.h>

#include "core/base/error.hpp"

namespace orrery {

void throw_findings(const std::vector<Finding>& findings) {
  if (findings.empty()) return;
  const Finding& first = findings.front();
  const std::string others =
      findings.size() == 1 ? "" : fmt::format(" (and {} more findings)", findings.size() - 1);
  throw ProgramError(first.rank, first.step, first.problem + others);
}

void check(std::span<const Program> programs) {
  std::vector<Finding> all;
  for (const Program& program : programs)
    for (Finding& finding : find_local_problems(program)) all.push_back(std::move(finding));
  for (Finding& finding : find_collective_problems(programs)) all.push_back(std::move(finding));
  throw_findings(all);
}

}  // namespace orrery
