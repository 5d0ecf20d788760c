#include "experiments/predict/recorded.hpp"

#include <algorithm>
#include <set>

#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/runtime/check/check.hpp"
#include "core/strategy/train/record.hpp"

namespace orrery {

Programs record_checked(const Strategy& plan, const Problem& problem,
                        const Capacities& capacities) {
  const int epochs = epochs_to_record(problem);
  Programs programs;
  if (problem.statistics) {
    programs = record_shared(plan, problem, epochs, capacities);
    for (const auto& program : std::set(programs.begin(), programs.end()))
      throw_findings(find_local_problems(*program));
    return programs;
  }
  auto recorded = record_training(plan, problem, epochs, capacities);
  check(recorded);
  for (Program& program : recorded)
    programs.push_back(std::make_shared<const Program>(std::move(program)));
  return programs;
}

std::vector<Summary> summaries(const Programs& programs, const Strategy& plan,
                               const Placement& placement, int epochs) {
  std::vector<Summary> ranks(programs.size());
  parallel_for(static_cast<std::int64_t>(ranks.size()), 1, [&](std::int64_t i, std::int64_t) {
    const auto rank = static_cast<int>(i);
    ranks[at(i)] = summarise(
        *programs[at(i)], placement, rank,
        [&](const Group& group) { return plan.own_group(group, rank); }, epochs);
  });
  return ranks;
}

}  // namespace orrery
