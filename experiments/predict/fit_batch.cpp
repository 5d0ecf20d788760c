#include "experiments/predict/fit_batch.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/units.hpp"
#include "core/runtime/recording.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/structure/sampled_batches.hpp"
#include "core/strategy/train/train.hpp"
#include "core/terminal/activity.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/predict/server_memory.hpp"

namespace orrery {
namespace {

constexpr const char* kBatchKey = "strategy.batch";

/// A memory that is too small.
struct Shortage {
  std::string memory;  ///< "device memory"
  std::int64_t needed = 0, room = 0;
};

std::string memory_words(Space space) {
  switch (space) {
    case Space::device:
      return "device memory";
    case Space::host:
      return "host memory";
    case Space::pinned_host:
      return "pinned host memory";
    case Space::server_host:
      break;
  }
  return "host memory that its server's ranks read";
}

/// What a number of seeds lacks in a problem, which differs from that of `counted` in evaluations at most;
/// nothing if it fits.
using Lacks = std::optional<Shortage> (*)(const Experiment& experiment, const Problem& problem,
                                          const Strategy& counted, std::int64_t seeds);

/// As `orrery plan` judges it. `moves`: the rows of a cache may move to a larger buffer while a run holds
/// both, of which these programs know nothing. `ahead`: bytes of a rank's batches in flight.
std::optional<Shortage> shortage_of(const Experiment& experiment, const Programs& programs,
                                    bool moves, std::int64_t ahead) {
  const Capacities rooms = memory_capacities(experiment);
  for (const Space space : {Space::device, Space::host, Space::pinned_host, Space::server_host}) {
    std::int64_t peak = 0;
    for (const auto& program : programs) peak = std::max(peak, program->peak_bytes[at(space)]);
    if (moves && space == Space::pinned_host) peak *= 2;
    if (peak > rooms.bytes[at(space)])
      return Shortage{memory_words(space) + " of a rank", peak, rooms.bytes[at(space)]};
  }
  const std::optional<ServerMemory> server = fullest_server(experiment, programs, ahead);
  if (!server) return std::nullopt;
  const std::int64_t bytes = server->bytes() + (moves ? server->pinned_host : 0);
  if (bytes <= server->room) return std::nullopt;
  return Shortage{"host memory of a server", bytes, server->room};
}

/// Of a rank's batches; not counted (0) where nobody says how much host memory a server has.
std::int64_t in_flight_on(const Experiment& experiment, const Strategy& strategy,
                          std::int64_t BatchesAhead::*which) {
  if (!experiment.cluster || experiment.cluster->host.memory_bytes == 0) return 0;
  const std::optional<BatchesAhead> batches = in_flight(strategy);
  return batches ? (*batches).*which : 0;
}

/// The epochs whose batches are drawn: those that train, or of a simulation.
int drawn_epochs(const Experiment& experiment, const Body& body) {
  if (experiment.trains()) return body.epochs();
  return std::min(std::max(experiment.simulation.epochs, epochs_to_record(body)), body.epochs());
}

std::optional<Shortage> any_batch_lacks(const Experiment& experiment, const Problem& problem,
                                        const Strategy& counted, std::int64_t seeds) {
  const auto strategy = counted.with_largest_batches_of(seeds);
  const TrainingBody body(*strategy, problem);
  return shortage_of(experiment, record_shared(body, epochs_to_record(body), {}, false),
                     mini_batch_of(problem.strategy).cache.bytes > 0,
                     in_flight_on(experiment, *strategy, &BatchesAhead::bound));
}

/// Of the batches of so many epochs.
std::optional<Shortage> lacking_in(const Experiment& experiment, const Problem& problem,
                                   std::int64_t seeds,
                                   int (*epochs)(const Experiment&, const Body&)) {
  Problem drawn = problem;
  info_of(drawn.strategy).set_batch(drawn.strategy, seeds);
  const auto strategy = make_strategy(drawn);
  const TrainingBody body(*strategy, drawn);
  try {
    return shortage_of(
        experiment,
        record_shared(body, epochs(experiment, body), memory_capacities(experiment), false), false,
        in_flight_on(experiment, *strategy, &BatchesAhead::drawn));
  } catch (const OutOfMemory&) {  // at the first step that is too large
    return Shortage{};
  }
}
std::optional<Shortage> first_batches_lack(const Experiment& experiment, const Problem& problem,
                                           const Strategy& /*counted*/, std::int64_t seeds) {
  return lacking_in(experiment, problem, seeds,
                    [](const Experiment&, const Body& body) { return epochs_to_record(body); });
}
std::optional<Shortage> drawn_batches_lack(const Experiment& experiment, const Problem& problem,
                                           const Strategy& /*counted*/, std::int64_t seeds) {
  return lacking_in(experiment, problem, seeds, drawn_epochs);
}

/// Evaluations take the same memory with any batch.
[[noreturn]] void refuse_batch(const Experiment& experiment, const Problem& problem,
                               const Strategy& counted) {
  const Shortage lacking = *any_batch_lacks(experiment, problem, counted, 1);
  const bool draws = experiment.resolved["strategy"].contains("fanouts");
  std::string advice =
      (draws ? "lower strategy.fanouts, " : "") + std::string("use narrower layers or more ranks");
  if (experiment.fits_batch == BatchFit::any)
    advice += ", or \"fit_drawn\", which counts only what the run draws";
  if (problem.train.eval_every > 0) {
    Problem alone = problem;
    alone.train.eval_every = 0;
    advice =
        any_batch_lacks(experiment, alone, *make_strategy(alone), 1)
            ? "set train.eval_every to 0, " + advice
            : "without evaluations of the whole graph it would fit: set train.eval_every to 0, "
              "or use more ranks";
  }
  throw ConfigError(
      kBatchKey, fmt::format("not even 1 fits into the {}: it can take {} of {}, {} more; {}",
                             lacking.memory, human_bytes(lacking.needed), human_bytes(lacking.room),
                             human_bytes(lacking.needed - lacking.room), advice));
}

/// The numbers of seeds of a problem, and what each lacks.
class BatchSearch {
 public:
  BatchSearch(const Experiment& experiment, const Problem& problem)
      : experiment_(experiment),
        problem_(problem),
        counted_(make_strategy(problem)),
        most_(counted_->most_seeds()) {}

  /// The largest for any batch.
  std::int64_t of_any() {
    lacks_ = any_batch_lacks;
    if (fits(most_)) return possible(most_);
    return possible(between(0, most_));
  }
  /// The largest for all batches that are drawn. Most of the work is in numbers that fit, because one that
  /// does not ends with the first batch that is too large; so first a few epochs say about where to look.
  std::int64_t of_drawn(std::int64_t any) {
    lacks_ = first_batches_lack;
    if (!fits(most_)) {
      const std::int64_t about = between(any, most_);
      lacks_ = drawn_batches_lack;
      return possible(below(any, about));
    }
    lacks_ = drawn_batches_lack;
    return possible(fits(most_) ? most_ : below(any, most_ - 1));
  }
  const Strategy& counted() const { return *counted_; }

 private:
  bool fits(std::int64_t seeds) {
    searching_.update({fmt::format("finding the largest {} that fits: is {} of {} too many?",
                                   kBatchKey, seeds, most_)});
    std::optional<ConfigError> impossible;
    try {
      if (lacks_(experiment_, problem_, *counted_, seeds)) return false;
    } catch (const ConfigError& error) {
      impossible = error;
    }
    why_not_ = impossible;
    return true;
  }
  /// By bisection, between a number that fits (0: none is known) and one that does not.
  std::int64_t between(std::int64_t fit, std::int64_t too_many) {
    while (too_many - fit > 1) {
      const std::int64_t middle = fit + (too_many - fit) / 2;
      (fits(middle) ? fit : too_many) = middle;
    }
    return fit;
  }
  /// The same, if the result is hardly less than `about` or equal to it.
  std::int64_t below(std::int64_t fit, std::int64_t about) {
    std::int64_t too_many = about + 1;
    for (std::int64_t less = 0; about - less > fit; less = 2 * less + 1) {
      if (fits(about - less)) return between(about - less, too_many);
      too_many = about - less;
    }
    return between(fit, too_many);
  }
  std::int64_t possible(std::int64_t seeds) const {
    if (why_not_) throw *why_not_;
    return seeds;
  }

  const Experiment& experiment_;
  const Problem& problem_;
  std::unique_ptr<const Strategy> counted_;
  std::int64_t most_;
  Lacks lacks_ = any_batch_lacks;
  std::optional<ConfigError> why_not_;  ///< the last that fits: links have no negatives in so few
  Activity searching_{fmt::format("finding the largest {} that fits", kBatchKey)};
};

}  // namespace

std::int64_t largest_batch(const Experiment& experiment, const Problem& problem) {
  BatchSearch search(experiment, problem);
  std::int64_t seeds = 0;
  try {
    seeds = search.of_any();
  } catch (const ConfigError&) {
    if (experiment.fits_batch == BatchFit::any) throw;  // more seeds may fit if they are drawn
  }
  if (experiment.fits_batch == BatchFit::drawn) seeds = search.of_drawn(seeds);
  if (seeds == 0) refuse_batch(experiment, problem, search.counted());
  return seeds;
}

}  // namespace orrery
