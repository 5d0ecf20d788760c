#include "experiments/predict/prepared.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/model/adjacency.hpp"
#include "core/runtime/check/check.hpp"
#include "core/runtime/check/check_digest.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/structure/sampled_batches.hpp"
#include "core/strategy/train/train.hpp"
#include "core/terminal/activity.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/predict/fit.hpp"

namespace orrery {
namespace {

/// Proves the programs safe; shared ones once.
void check_shared(const Programs& programs, const Body& body) {
  std::vector<std::vector<Finding>> findings(programs.size());
  std::vector<std::vector<CollectiveDigest>> digests(programs.size());
  parallel_for(static_cast<std::int64_t>(programs.size()), 1, [&](std::int64_t r, std::int64_t) {
    const auto i = static_cast<std::size_t>(r);
    if (body.representative(static_cast<int>(r)) != r) return;
    findings[i] = find_local_problems(*programs[i]);
    digests[i] = digest_collectives(*programs[i]);
  });
  for (std::size_t r = 0; r < programs.size(); ++r) {
    throw_findings(findings[r]);
    const int rank = static_cast<int>(r), shown = body.representative(rank);
    if (shown == rank) continue;
    digests[r] = digests[at(shown)];
    for (CollectiveDigest& digest : digests[r]) digest.group = body.own_group(digest.group, rank);
  }
  throw_findings(compare_digests(digests));
}

/// Records in the resolved file which normalisation "auto" takes for this graph.
void resolve_normalisation(Experiment& experiment, const DataFacts& facts) {
  nlohmann::ordered_json& model = experiment.resolved["model"];
  if (!model.contains("normalisation") || model["normalisation"] != "auto") return;
  model["normalisation"] =
      weighting_of(experiment.model, facts.symmetric).symmetric ? "symmetric" : "row";
}

/// Records in the resolved file how many parts "auto" took, if the device memory decided it.
void resolve_parts(Experiment& experiment, const Problem& problem) {
  if (problem.stored || !info_of(experiment.strategy).deals_parts ||
      experiment.partition.parts > 0 || !experiment.device_bytes)
    return;
  const NumberOfParts drawn = parts_of(experiment, data_bytes(problem.facts()));
  if (drawn.parts != problem.partition.parts) return;  // it was cut for another cluster
  experiment.parts_reason = drawn.reason;
  experiment.strategy.parts = problem.partition.parts;
  experiment.resolved["partition"]["parts"] = problem.partition.parts;
  experiment.resolved["partition"].erase("working_bytes");  // it is in the number now
}

}  // namespace

std::array<std::int64_t, kSpaces> peaks_of(const Programs& programs) {
  std::array<std::int64_t, kSpaces> most{};
  for (const auto& program : programs)
    for (std::size_t space = 0; space < most.size(); ++space)
      most[space] = std::max(most[space], program->peak_bytes[space]);
  return most;
}

std::optional<std::array<std::int64_t, kSpaces>> bound_of_memory(
    const PreparedExperiment& prepared) {
  const auto largest = prepared.strategy->with_largest_batches();
  if (largest == nullptr) return std::nullopt;
  return peaks_of(record_shared(TrainingBody(*largest, *prepared.problem), 1, {}));
}

std::optional<std::array<std::int64_t, kSpaces>> likely_memory(const PreparedExperiment& prepared) {
  if (prepared.problem->strategy.type != "mini_batch" ||
      mini_batch_of(prepared.problem->strategy).sizes != BatchSizesFrom::draws)
    return std::nullopt;
  Problem likely = *prepared.problem;
  MiniBatchSettings settings = mini_batch_of(likely.strategy);
  settings.sizes = BatchSizesFrom::likely;
  likely.strategy.own = settings;
  const auto strategy = make_strategy(likely);
  return peaks_of(record_shared(TrainingBody(*strategy, likely), 1, {}));
}

bool draws_anew(const PreparedExperiment& prepared) {
  return prepared.experiment.links || prepared.problem->strategy.boundary_sampling < 1 ||
         prepared.strategy->batch_sizes();
}

PreparedExperiment prepare(const Experiment& asked, const ProblemData& data, Partition cut) {
  const Activity planning(fmt::format("planning what {} ranks hold", asked.ranks()));
  auto problem = std::make_shared<Problem>(make_problem(asked, data, std::move(cut)));
  require_trainable(*problem);
  Experiment experiment = fit_to_memory(asked, *problem);
  resolve_normalisation(experiment, problem->facts());
  resolve_parts(experiment, *problem);
  auto strategy = make_strategy(*problem);
  require_steps_to_keep(*strategy, experiment.checkpoint_steps);
  return {std::move(experiment), std::move(problem), std::move(strategy)};
}

PreparedExperiment prepare(const Experiment& asked, const ProblemData& data) {
  return prepare(asked, data, make_partition(asked, data));
}

Programs record_checked(const Body& body, const Capacities& capacities) {
  const Activity recording(fmt::format("recording and checking what {} ranks do", body.ranks()));
  auto recorded = record_ranks(body, epochs_to_record(body), capacities);
  check(recorded);
  Programs programs;
  for (Program& program : recorded)
    programs.push_back(std::make_shared<const Program>(std::move(program)));
  return programs;
}

Programs record_checked(const PreparedExperiment& prepared, const Capacities& capacities) {
  const TrainingBody body = prepared.body();
  if (!prepared.problem->statistics) return record_checked(body, capacities);
  const Activity recording(fmt::format("recording what {} ranks do", body.ranks()));
  Programs programs = record_shared(body, epochs_to_record(body), capacities);
  for (const auto& program : std::set(programs.begin(), programs.end()))
    throw_findings(find_local_problems(*program));
  return programs;
}

Programs record_checked_shared(const Body& body, int epochs, const Capacities& capacities) {
  Programs programs;
  {
    const Activity recording(fmt::format("recording {} epochs of {} ranks", epochs, body.ranks()));
    programs = record_shared(body, epochs, capacities);
  }
  const Activity checking(fmt::format("checking what {} ranks do", body.ranks()));
  check_shared(programs, body);
  return programs;
}

std::vector<Summary> summaries(const Programs& programs, const Body& body,
                               const Placement& placement, int epochs) {
  std::vector<Summary> ranks(programs.size());
  parallel_for(static_cast<std::int64_t>(ranks.size()), 1, [&](std::int64_t i, std::int64_t) {
    const auto rank = static_cast<int>(i);
    ranks[at(i)] = summarise(
        *programs[at(i)], placement, rank,
        [&](const Group& group) { return body.own_group(group, rank); }, epochs);
  });
  return ranks;
}

std::vector<Summary> summaries(const Programs& programs, const PreparedExperiment& prepared) {
  return summaries(programs, prepared.body(), prepared.experiment.placement(), prepared.period());
}

}  // namespace orrery
