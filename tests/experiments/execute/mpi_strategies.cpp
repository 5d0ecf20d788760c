// One rank of a job that trains with every strategy that its number of ranks allows, and holds the
// losses against those of one rank in one process. `mpi_strategies cuda`: the job's kernels are
// those of GPUs, in one setting.
#include <fmt/core.h>

#include <cmath>

#include "core/base/error.hpp"
#include "core/sample/links/held_out_links.hpp"
#include "core/strategy/make_strategy.hpp"
#include "experiments/execute/execute_mpi.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/typed.hpp"

namespace orrery {
namespace {

using testing::losses;
using testing::make_problem;

struct Setting {
  ModelType model;
  bool symmetric;
  std::int64_t hidden;
  double dropout;
  std::string partition;  ///< "adversarial": all vertices on one rank
};

const std::vector<Setting> kSettings{{ModelType::gcn, true, 16, 0.3, "random"},
                                     {ModelType::gcn, false, 40, 0, "metis"},
                                     {ModelType::sage, true, 16, 0.3, "adversarial"}};

Problem problem_of(const Setting& setting, const std::shared_ptr<const Dataset>& data, int ranks,
                   const StrategyConfig& strategy) {
  const bool adversarial = setting.partition == "adversarial";
  Problem problem = make_problem(data, ranks, strategy, adversarial ? "block" : setting.partition);
  if (adversarial)
    for (auto& owner : problem.partition.owner) owner = problem.partition.parts - 1;
  problem.model.type = setting.model;
  problem.model.hidden = setting.hidden;
  problem.model.dropout = setting.dropout;
  return problem;
}

/// Whether the losses of 20 epochs agree to 1e-4; says so where they do not.
bool agree(const std::string& name, const std::vector<double>& got,
           const std::vector<double>& want) {
  bool same = got.size() == want.size();
  for (std::size_t i = 0; same && i < got.size(); ++i)
    same = std::abs(got[i] - want[i]) <= 1e-4 * std::abs(want[i]);
  if (!same) fmt::print(stderr, "{}: the losses differ from those of one rank\n", name);
  return same;
}

/// Bytes that came in are those of the executed program: in total to the byte, as sums of slices
/// are rounded on each rank.
bool counts_agree(MpiWorld& world, const Outcome& outcome, const std::string& name) {
  if (world.rank() != 0) return true;
  double planned = 0, counted = 0;
  for (const RankOutcome& rank : outcome.ranks) {
    const auto add = [&](const Totals& totals, double times) {
      planned += times * (totals.sum().internal + totals.sum().external);
    };
    add(rank.summary.setup, 1);
    add(rank.summary.epoch, static_cast<double>(outcome.epochs.size()) / rank.summary.epochs);
    add(rank.summary.evaluation, static_cast<double>(outcome.epochs.size()));
    // An epoch pulls the rows of the next one's batch; the last has none.
    const auto& ops = rank.summary.epoch.by_kind;
    if (const auto pull = ops.find("pull"); pull != ops.end())
      planned -= pull->second.internal + pull->second.external;
    for (const auto bytes : rank.received_from) counted += static_cast<double>(bytes);
  }
  const bool same = std::abs(planned - counted) < 0.5;
  if (!same) fmt::print(stderr, "{}: {} bytes planned, {} came in\n", name, planned, counted);
  return same;
}

std::string kernels = "cpu";  // of the job

/// Trains on the ranks of this job.
Outcome execute_here(MpiWorld& world, Communicator& communicator, const Problem& problem) {
  ExecuteOptions options;
  options.kernels = kernels;
  options.placement = world.placement();
  return execute_on_mpi(world, communicator, TrainingBody(*make_strategy(problem), problem),
                        options, {});
}

/// Trains on the ranks of this job and holds losses and counted bytes against what is expected.
bool agrees(MpiWorld& world, Communicator& communicator, const std::string& name,
            const Problem& problem, const std::vector<double>& want) {
  const Outcome outcome = execute_here(world, communicator, problem);
  const bool same = agree(name, losses(outcome), want);
  return counts_agree(world, outcome, name) && same;
}

/// Local models of six parts, averaged after every epoch (else some evaluations would move more
/// than others): the same on one rank of one process.
bool local_models_agree(MpiWorld& world, Communicator& communicator, const Setting& setting,
                        const std::shared_ptr<const Dataset>& data) {
  StrategyConfig strategy = testing::local_model_strategies().back().config;
  strategy.interval = strategy.workers = 1;
  const auto want = losses(testing::execute(problem_of(setting, data, 1, strategy)));
  strategy.workers = world.size();
  return agrees(world, communicator, "local models",
                problem_of(setting, data, world.size(), strategy), want);
}

/// Inexact forms learn the same as ranks that are threads.
bool inexact_agree(MpiWorld& world, Communicator& communicator, const Setting& setting,
                   const std::shared_ptr<const Dataset>& data) {
  bool good = true;
  for (const auto& [name, strategy] : testing::inexact_strategies()) {
    Problem problem = problem_of(setting, data, world.size(), strategy);
    problem.train.epochs = 6;
    const auto got = losses(execute_here(world, communicator, problem));
    good = agree(name, got, losses(testing::execute(problem))) && good;
  }
  return good;
}

/// Several batches an epoch, whose blocks are the same on one rank; and, to the bit, the same however
/// far ahead of the trainer they are drawn, fetched and loaded.
bool batches_agree(MpiWorld& world, Communicator& communicator, const Setting& setting,
                   const std::shared_ptr<const Dataset>& data) {
  MiniBatchSettings settings{.batch = 16, .seeds = SeedsFrom::all, .fanouts = {4, 3}};
  const auto problem = [&](int ranks) {
    StrategyConfig strategy;
    strategy.type = "mini_batch";
    strategy.first_layer = FirstLayer::recompute;
    strategy.own = settings;
    Problem made = problem_of(setting, data, ranks, strategy);
    made.train.epochs = 5;
    return made;
  };
  const auto run = [&] { return losses(execute_here(world, communicator, problem(world.size()))); };
  const auto usual = run();
  bool good = agree("batches", usual, losses(testing::execute(problem(1))));
  settings.cache = {CachePolicy::presampled, 1 << 10};
  for (const StagesAhead& ahead : {StagesAhead{0, 0, 0}, {4, 3, 2}}) {
    settings.ahead = ahead;
    if (run() == usual) continue;
    fmt::print(stderr, "batches {}, {}, {} ahead: the losses differ\n", ahead.sample, ahead.fetch,
               ahead.load);
    good = false;
  }
  return good;
}

/// Batches of each sampler, of links and of a typed graph, and learned features, learn the same as on
/// ranks that are threads.
bool samples_agree(MpiWorld& world, Communicator& communicator) {
  const auto data = testing::random_dataset(90, 500, 12, 5, true);
  const auto typed = testing::typed_dataset(90, 500, 12, 5, true);
  std::vector<std::pair<std::string, Problem>> problems;
  const auto add = [&](const std::string& name, Problem problem) -> Problem& {
    problem.train.epochs = 3;
    return problems.emplace_back(name, std::move(problem)).second;
  };
  const auto in_batches = [&](MiniBatchSettings settings) {
    return make_problem(data, world.size(), testing::batches_of(std::move(settings)));
  };
  add("labor", in_batches({.batch = 8, .sampler = BatchSampler::labor, .fanouts = {4, 3}}));
  add("replacement", in_batches({.batch = 8, .fanouts = {4, 3}, .replace = true}));
  add("all neighbours", in_batches({.batch = 8, .sampler = BatchSampler::all}));
  add("clusters", in_batches({.sampler = BatchSampler::cluster, .clusters = 8, .together = 2}));
  for (const BatchSampler sampler :
       {BatchSampler::saint_node, BatchSampler::saint_edge, BatchSampler::saint_walk})
    add("saint", in_batches({.batch = 20, .sampler = sampler}));
  add("relabelled on the device",
      in_batches({.batch = 8, .fanouts = {4, 3}, .relabel = RelabelOn::device}));
  add("learned features", in_batches({.batch = 8, .fanouts = {4, 3}})).strategy.learned.emplace();
  add("learned features of the whole graph", make_problem(data, world.size(), StrategyConfig{}))
      .strategy.learned.emplace();
  for (const bool by_relation : {false, true})
    add("typed", testing::typed_problem(
                     typed, world.size(),
                     testing::batches_of(
                         {.batch = 8, .fanouts = {3, 2}, .fanouts_by_relation = by_relation})))
        .model.projection = by_relation ? 6 : 0;
  add("typed, the whole graph", testing::typed_problem(typed, world.size())).model.projection = 6;
  for (const bool by_relation : {false, true})
    for (const std::int64_t batch : {8, 1 << 20}) {
      MiniBatchSettings settings{.batch = batch, .fanouts = {3, 2}};
      if (batch == 8)
        settings.ahead.fetch = 2;
      else
        settings.fanouts = {-1, -1};  // all epochs pull as much
      Problem problem =
          by_relation ? testing::typed_problem(typed, world.size(), testing::batches_of(settings))
                      : in_batches(settings);
      problem.model.type = by_relation ? ModelType{"rgat"} : ModelType::gat;
      problem.model.heads = 4;
      testing::add_edge_features(problem, 3);
      add("features of edges", std::move(problem));
    }
  const LinkConfig links{.width = 6};
  auto [trained, task] = hold_out_links(*data, links, testing::kSeed);
  const auto rest = std::make_shared<const Dataset>(std::move(trained));
  for (const bool whole : {false, true}) {
    const StrategyConfig strategy =
        whole ? StrategyConfig{} : testing::batches_of({.batch = 40, .fanouts = {4, 3}});
    Problem problem = make_problem(rest, world.size(), strategy);
    problem.links = task;
    add(whole ? "links, the whole graph" : "links", std::move(problem));
  }

  bool good = true;
  for (const auto& [name, problem] : problems) {
    const Outcome outcome = execute_here(world, communicator, problem);
    const auto got = losses(outcome);
    good = agree(name, got, losses(testing::execute(problem))) && good;
    const bool relabelled = mini_batch_of(problem.strategy).relabel == RelabelOn::device;
    if ((!problem.edge_features && !relabelled) || kernels == "cuda") continue;
    if (got != losses(testing::execute(problem, kernels))) {
      fmt::print(stderr, "{}: the losses are not those of threads to the bit\n", name);
      good = false;
    }
    if (mini_batch_of(problem.strategy).batch > 8)  // a batch an epoch
      good = counts_agree(world, outcome, name) && good;
  }
  return good;
}

bool possible(const StrategyConfig& strategy, int ranks) {
  try {
    parts_for(strategy, ranks);
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

/// All settings on four ranks, on which every strategy can be tried, and one of them on others.
std::vector<Setting> settings_on(int ranks) {
  if (ranks == 4) return kSettings;
  return {kSettings[static_cast<std::size_t>(ranks) % kSettings.size()]};
}

bool all_agree(MpiWorld& world, Communicator& communicator) {
  bool good = true;
  for (const Setting& setting : settings_on(world.size())) {
    const auto data = testing::random_dataset(90, 500, 12, 5, setting.symmetric);
    const Problem alone = problem_of(setting, data, 1, {});
    const auto want = losses(testing::execute(alone));
    for (const auto& [name, strategy] : testing::all_strategies()) {
      if (!possible(strategy, world.size())) continue;
      const Problem problem = problem_of(setting, data, world.size(), strategy);
      good = agrees(world, communicator, name, problem, want) && good;
    }
    good = local_models_agree(world, communicator, setting, data) && good;
    good = inexact_agree(world, communicator, setting, data) && good;
    good = batches_agree(world, communicator, setting, data) && good;
    if (kernels == "cuda") break;
  }
  return samples_agree(world, communicator) && good;
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  if (argc > 1) orrery::kernels = argv[1];
  orrery::MpiWorld world({});
  bool good = false;
  world.run(
      [&](orrery::Communicator& communicator) { good = orrery::all_agree(world, communicator); });
  return world.any(!good) ? 1 : 0;
}
