#include "experiments/infer/sample_stage.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/index.hpp"
#include "core/terminal/activity.hpp"

namespace orrery {
namespace {

using Clock = std::chrono::steady_clock;
using AddUp = std::function<void(std::vector<std::int64_t>&)>;

/// Every rank reports the counts of its part; one rank of each part is used. `received`: grows by
/// the bytes that come from other ranks.
AddUp adding_up(const TileLayout& layout, const Job& job, double* received) {
  return [layout, job, received](std::vector<std::int64_t>& counts) {
    const std::string mine(reinterpret_cast<const char*>(counts.data()),
                           counts.size() * sizeof(std::int64_t));
    const auto all = job.world->all_gather(mine);
    *received += static_cast<double>(mine.size() * (all.size() - 1));
    std::fill(counts.begin(), counts.end(), 0);
    for (int part = 0; part < layout.row_parts; ++part) {
      std::vector<std::int64_t> theirs(counts.size());
      std::memcpy(theirs.data(), all[at(layout.rank_of(part, 0))].data(), mine.size());
      for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += theirs[i];
    }
  };
}

std::optional<int> own_part(const InferenceProblem& problem, const Job& job) {
  if (job.world == nullptr) return std::nullopt;
  return problem.layout().part_of(job.world->rank());
}

std::shared_ptr<const LocatedInput> locate(const InferenceProblem& problem, const Job& job,
                                           double* received) {
  if (job.world == nullptr) return locate_input(problem);
  return locate_input(problem, own_part(problem, job), adding_up(problem.layout(), job, received));
}

/// The neighbours that are drawn for a part.
std::int64_t draws_bytes(const InferenceProblem& problem, int part) {
  const int fanout = problem.config.fanout;
  if (fanout == kAllNeighbours) return 0;
  const Share rows = problem.layout().rows(part);
  std::int64_t longer = 0;
  for (std::int64_t v = rows.first; v < rows.end(); ++v)
    longer += problem.data->graph.degree(v) > fanout ? 1 : 0;
  return 4 * (rows.count + longer * problem.model.layers * fanout);
}

/// Those of all parts, or of one.
std::int64_t all_draws_bytes(const InferenceProblem& problem, std::optional<int> only_part) {
  std::int64_t bytes = 0;
  for (int part = 0; part < problem.layout().row_parts; ++part)
    if (only_part.value_or(part) == part) bytes += draws_bytes(problem, part);
  return bytes;
}

/// Marks of the vertices that were seen in each layer, and once more for whole rows.
std::int64_t marks_bytes(const InferenceProblem& problem, bool lists) {
  if (problem.config.rows == 1 && !lists) return 0;
  return (lists ? 2 : 1) * problem.model.layers * ((problem.data->vertices() + 7) / 8);
}

/// The entries of a part while the rows that its first sum asks for are counted.
std::int64_t located_bytes(const InferenceProblem& problem, int part) {
  const bool counts =
      problem.input && problem.config.preparation == Preparation::fused && sums_first(problem);
  return counts ? 8 * problem.graphs->entries_of(problem.layout().rows(part)) : 0;
}

}  // namespace

std::int64_t sampling_bytes(const InferenceProblem& problem, std::optional<int> only_part) {
  const TileLayout layout = problem.layout();
  const std::int64_t parts = layout.row_parts, layers = problem.model.layers;
  const bool whole = problem.data->graph.rows.count == problem.data->vertices();
  const bool lists = lists_for(problem.config, weighs_edges(problem.model)) != RowLists::none;
  std::int64_t kept = 0, passing = 0, located = 0;  // of parts that are counted and dropped
  for (int part = 0; part < layout.row_parts; ++part) {
    const bool own = only_part.value_or(part) == part;
    if (own) kept += draws_bytes(problem, part);
    if (own) located = std::max(located, located_bytes(problem, part));
    if (!own && whole) passing = std::max(passing, draws_bytes(problem, part));
  }
  const bool lengths = weighting_of(problem.model, problem.data->graph.symmetric).by_columns();
  const std::int64_t counts =
      8 * layers * (1 + 2 * parts * parts + (lists ? layout.ranks() * parts : 0));
  return kept + std::max(passing + marks_bytes(problem, lists), located) +
         (lengths ? 2 * problem.data->vertices() : 0) + counts;
}

StageBefore draw_and_count(InferenceProblem& problem, const Job& job, const KeptInput* kept) {
  const Activity activity("drawing neighbours and counting what parts need of each other");
  const bool there = kept != nullptr && kept->there().draws;
  const auto begin = Clock::now();
  const std::optional<int> part = own_part(problem, job);
  double received = 0;
  problem.graphs = there ? make_graphs(problem, part, kept->take_draws())
                   : job.world == nullptr
                       ? make_graphs(problem)
                       : make_graphs(problem, part, adding_up(problem.layout(), job, &received));
  problem.input = locate(problem, job, &received);
  const std::chrono::duration<double> took = Clock::now() - begin;
  StageBefore mine{"sample", took.count(), received};
  if (there)
    mine.peak_bytes = all_draws_bytes(problem, part);
  else if (!problem.data->statistics)
    mine.peak_bytes = sampling_bytes(problem, part);
  if (kept != nullptr && !there) kept->put_draws(problem.graphs->drawn());
  return of_all_ranks(mine, job);
}

std::shared_ptr<const LocatedInput> locate_input(const InferenceProblem& problem, const Job& job) {
  double received = 0;
  return locate(problem, job, &received);
}

}  // namespace orrery
