#include "experiments/calibrate/in_place.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <iterator>
#include <numeric>
#include <set>
#include <span>
#include <thread>
#include <utility>

#include "backends/comm_threads/comm_threads.hpp"
#include "core/base/index.hpp"
#include "core/runtime/summary.hpp"
#include "core/strategy/train/record.hpp"
#include "experiments/calibrate/time_ops.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/execute/execute.hpp"
#include "experiments/execute/open_device.hpp"
#include "experiments/predict/prepared.hpp"
#include "sim/price/op_seconds.hpp"
#include "sim/price/price_point.hpp"
#include "sim/price/price_table.hpp"

namespace orrery::calibrate {
namespace {

/// The first is left out, because it touches memory for the first time.
constexpr int kEpochs = 7;
/// An epoch in batches has each operation many times.
constexpr int kSampledEpochs = 4;

constexpr double kKiB = 1024, kMiB = 1024 * kKiB;
const std::vector<double> kBytes{64 * kKiB, 512 * kKiB, 4 * kMiB, 32 * kMiB, 256 * kMiB};

std::string file(const std::string& dataset, const std::string& model,
                 const std::string& strategy = R"("type": "full_graph")", int epochs = kEpochs) {
  return fmt::format(
      R"({{"name": "calibration", "seed": 5, "dataset": {{{}}}, "model": {{{}}}, "strategy": {{{}}},
           "train": {{"epochs": {}, "eval_every": 0}}}})",
      dataset, model, strategy, epochs);
}

/// Graphs of 5,000 to 150,000 vertices; none is one of configs/validation.
std::vector<std::string> trainings(Effort effort) {
  const std::string small =
      R"("generate": "communities", "vertices": 5000, "edges": 40000, "features": 48, "classes": 10)";
  if (effort == Effort::tiny) return {file(small, R"("type": "gcn", "hidden": 16)")};
  return {
      file(small, R"("type": "gcn", "hidden": 32)"),
      file(
          R"("generate": "rmat", "vertices": 16384, "edges": 260000, "features": 96, "classes": 24)",
          R"("type": "sage", "hidden": 48)"),
      file(R"("generate": "communities", "vertices": 60000, "edges": 500000, "features": 64,
              "classes": 16)",
           R"("type": "gcn", "hidden": 96)"),
      file(R"("generate": "chung-lu", "vertices": 50000, "edges": 600000, "features": 80,
              "classes": 40)",
           R"("type": "gcn", "hidden": 64, "layers": 3, "dropout": 0)"),
      file(R"("generate": "bter", "vertices": 150000, "edges": 2000000, "features": 128,
              "classes": 40)",
           R"("type": "gcn", "hidden": 64)"),
  };
}

/// In sampled batches; none is one of configs/validation.
std::vector<std::string> sampled_trainings(Effort effort) {
  const auto sampled = [](const std::string& dataset, const std::string& model,
                          const std::string& batches) {
    return file(dataset, model, R"("type": "mini_batch", )" + batches, kSampledEpochs);
  };
  if (effort == Effort::tiny)
    return {sampled(
        R"("generate": "communities", "vertices": 2000, "edges": 16000, "features": 24, "classes": 5)",
        R"("type": "sage", "hidden": 16)", R"("batch": 300, "fanouts": [5, 5])")};
  return {
      sampled(R"("generate": "communities", "vertices": 30000, "edges": 240000, "features": 48,
              "classes": 12)",
              R"("type": "sage", "hidden": 48)", R"("batch": 700, "fanouts": [8, 8])"),
      sampled(R"("generate": "chung-lu", "vertices": 30000, "edges": 450000, "features": 100,
              "classes": 24)",
              R"("type": "gcn", "hidden": 128)", R"("batch": 1500, "fanouts": [12, 6])"),
      sampled(R"("generate": "rmat", "vertices": 16384, "edges": 200000, "features": 64,
              "classes": 10)",
              R"("type": "sage", "hidden": 96, "layers": 3)",
              R"("batch": 400, "fanouts": [10, 5, 5])"),
  };
}

/// Graphs of 20,000 to 250,000 vertices; none is one of configs/validation/gpu.
std::vector<std::string> gpu_trainings(Effort effort) {
  if (effort == Effort::tiny)
    return {file(R"("generate": "rmat", "vertices": 64, "edges": 300, "features": 8, "classes": 4)",
                 R"("type": "gcn", "hidden": 8)")};
  return {
      file(
          R"("generate": "communities", "vertices": 20000, "edges": 200000, "features": 64, "classes": 16)",
          R"("type": "gcn", "hidden": 32)"),
      file(
          R"("generate": "rmat", "vertices": 65536, "edges": 1500000, "features": 96, "classes": 24)",
          R"("type": "sage", "hidden": 64)"),
      file(R"("generate": "chung-lu", "vertices": 120000, "edges": 2000000, "features": 100,
              "classes": 41)",
           R"("type": "gcn", "hidden": 128, "layers": 3, "dropout": 0)"),
      file(R"("generate": "communities", "vertices": 250000, "edges": 3000000, "features": 128,
              "classes": 40)",
           R"("type": "gcn", "hidden": 256)"),
  };
}

double sum_of(std::span<const double> seconds) {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

/// The epochs without the shortest and the longest. (Means of these, and not medians of each operation: the
/// sum of the medians would be below the median of the sums, for what delays an operation does so more often
/// than what shortens it.)
std::vector<std::size_t> typical(const EpochSeconds& epochs) {
  std::vector<std::size_t> numbers(epochs.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  std::sort(numbers.begin(), numbers.end(),
            [&](std::size_t a, std::size_t b) { return sum_of(epochs[a]) < sum_of(epochs[b]); });
  if (numbers.size() > 2) {
    numbers.pop_back();
    numbers.erase(numbers.begin());
  }
  return numbers;
}

/// Of each operation, the mean of the typical epochs.
std::vector<double> typical_mean(const EpochSeconds& epochs) {
  const std::vector<std::size_t> numbers = typical(epochs);
  std::vector<double> mean(epochs.front().size(), 0.0);
  for (const std::size_t e : numbers)
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += epochs[e][i] / static_cast<double>(numbers.size());
  return mean;
}

/// What a rank did on the compute lane.
void add_rank(Trained& trained, const RankOutcome& outcome) {
  std::vector<const Op*> ops;
  for (const Step& step : outcome.program.steps)
    if (const auto* submit = std::get_if<SubmitStep>(&step);
        submit != nullptr && submit->lane == Lane::compute)
      ops.push_back(&submit->op);
  EpochSeconds& epochs = trained.ranks.emplace_back();
  trained.ops.clear();
  int last = 0;
  std::size_t i = 0;
  for (const Span& span : outcome.timeline.spans) {
    if (span.lane != Lane::compute) continue;
    const Op* op = ops[i++];
    if (!span.phase.in_epoch() || span.phase.epoch == 0) continue;
    if (span.phase.epoch != last) {
      epochs.emplace_back();
      trained.ops.emplace_back();
    }
    last = span.phase.epoch;
    if (std::visit([]<class T>(const T&) { return Communicates<T>; }, *op)) continue;
    epochs.back().push_back(span.end - span.begin);
    trained.ops.back().push_back(*op);
  }
}

/// Every rank of the team trains by itself, all at the same time.
std::vector<RankOutcome> train_side_by_side(const PreparedExperiment& prepared, const Team& team,
                                            const std::string& kernels) {
  const TrainingBody body = prepared.body();
  ExecuteOptions options;
  options.kernels = kernels;
  options.keep_steps = true;
  options.timeline_epochs = {0, kEpochs};
  if (kernels != "cpu") {  // takes no more of a GPU than it needs: others may use the rest
    const Program recorded = record_rank(body, 0, 1, {});
    options.capacities.bytes[at(Space::device)] =
        summarise(recorded, Placement::uniform(1, 1)).peak_device_bytes;
  }
  const RankHooks hooks{[](int) { return false; }, [](const EpochReport&, double) {}};
  std::vector<RankOutcome> outcomes(static_cast<std::size_t>(team.ranks));
  std::vector<std::exception_ptr> failures(outcomes.size());
  std::vector<std::thread> ranks;
  for (std::size_t r = 0; r < outcomes.size(); ++r)
    ranks.emplace_back([&, r] {
      try {
        ThreadWorld(1).run([&](int, Communicator& alone) {
          const auto device = open_device(options, gpu_of_rank(options, 0, 1));
          outcomes[r] = execute_rank(body, options, 0, team.threads, *device, alone, hooks);
        });
      } catch (...) {
        failures[r] = std::current_exception();
      }
    });
  for (std::thread& rank : ranks) rank.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  return outcomes;
}

/// How near a value is to each point of an ascending list, in logarithms: shares that sum to one.
std::vector<double> nearness(const std::vector<double>& points, double value) {
  std::vector<double> shares(points.size(), 0.0);
  const auto above = std::upper_bound(points.begin(), points.end(), value);
  if (above == points.begin() || above == points.end()) {
    (above == points.begin() ? shares.front() : shares.back()) = 1;
    return shares;
  }
  const auto i = static_cast<std::size_t>(above - points.begin());
  shares[i] = std::log(value / points[i - 1]) / std::log(points[i] / points[i - 1]);
  shares[i - 1] = 1 - shares[i];
  return shares;
}

struct Sums {
  double measured = 0, priced = 0;
};

/// Ratios that should be one: their mean distance from it, in logarithms.
struct Errors {
  double sum = 0;
  int count = 0;
  void add(double ratio) {
    sum += std::abs(std::log(ratio));
    ++count;
  }
  double mean() const { return sum / std::max(1, count); }
};

/// Σ measured / Σ priced at each point; where nothing is, as at the nearest point with something.
std::vector<double> ratios(const std::vector<Sums>& sums) {
  std::vector<double> factors;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    std::size_t best = sums.size();
    for (std::size_t j = 0; j < sums.size(); ++j) {
      const auto distance = [&](std::size_t k) { return k > i ? k - i : i - k; };
      if (sums[j].priced > 0 && (best == sums.size() || distance(j) < distance(best))) best = j;
    }
    factors.push_back(sums[best].measured / sums[best].priced);
  }
  return factors;
}

/// Trainings that begin with the same numbers, each on every team.
struct Course {
  std::vector<std::string> files;
  std::vector<Team> teams;
  sim::Operands operands = sim::Operands::of_graph;
};

std::vector<Trained> train_all(const std::vector<Course>& courses, const std::string& kernels,
                               const Report& report) {
  std::size_t count = 0;
  for (const Course& course : courses) count += course.files.size() * course.teams.size();
  std::vector<Trained> all;
  int training = 0;
  for (const Course& course : courses)
    for (const std::string& text : course.files) {
      const Experiment experiment = parse_experiments(text, "calibration", {}).front();
      const PreparedExperiment prepared = prepare(experiment, DatasetCache().load(experiment));
      for (const Team& team : course.teams) {
        Trained& trained = all.emplace_back();
        trained.training = training;
        trained.threads = team.threads;
        trained.operands = course.operands;
        for (const RankOutcome& outcome : train_side_by_side(prepared, team, kernels))
          add_rank(trained, outcome);
        report(static_cast<double>(all.size()) / static_cast<double>(count),
               fmt::format("trainings (ranks x threads: {} x {})", team.ranks, team.threads));
      }
      ++training;
    }
  return all;
}

}  // namespace

std::vector<InPlaceSample> only(const std::vector<InPlaceSample>& samples, sim::Operands operands) {
  std::vector<InPlaceSample> some;
  std::ranges::copy_if(samples, std::back_inserter(some),
                       [&](const InPlaceSample& s) { return s.operands == operands; });
  return some;
}

std::vector<Trained> train(Effort effort, int cores, const Report& report) {
  std::vector<Team> teams;
  for (const int threads : std::set<int>{1, cores})
    teams.push_back({std::max(1, cores / threads), threads});
  return train_all({{trainings(effort), teams},
                    {sampled_trainings(effort), {{1, 1}}, sim::Operands::of_batches}},
                   "cpu", report);
}

std::vector<Trained> train_on_gpu(Effort effort, const Report& report) {
  return train_all({{gpu_trainings(effort), {Team{}}}}, "cuda", report);
}

InPlace in_place_of(const std::vector<Trained>& trained, const sim::DeviceProfile& profile) {
  InPlace found;
  double squares = 0;
  int pairs = 0;
  for (const Trained& t : trained) {
    for (const EpochSeconds& rank : t.ranks)
      for (const std::size_t e : typical(rank))
        for (std::size_t i = 0; i < rank[e].size(); ++i) {
          const Op& op = t.ops[e][i];
          const sim::PricePoint point = sim::price_point(op);
          if (point.empty) continue;
          found.samples.push_back(
              {std::string(point.key), bytes_of(op), static_cast<double>(t.threads),
               sim::op_seconds(profile, op, t.threads),
               rank[e][i] + profile.roofline.launch_seconds, t.training, t.operands});
        }
    for (std::size_t r = 1; r < t.ranks.size(); r += 2, ++pairs)
      squares += squared_variation(t.ranks[r - 1], t.ranks[r]);
  }
  if (pairs > 0) found.variation = std::min(1.0, std::sqrt(squares / pairs));
  return found;
}

double squared_variation(const EpochSeconds& one, const EpochSeconds& other) {
  constexpr double kStretch = 1.0 / 8;
  constexpr double kMost = 0.5;  // of a logarithm: more is a disturbance
  const std::vector<double> mean = typical_mean(one);
  double sum = 0;
  int stretches = 0;
  for (std::size_t begin = 0, end = 0; begin < mean.size(); begin = end, ++stretches) {
    double seconds = 0, squares = 0;
    for (; end < mean.size() && seconds < kStretch * sum_of(mean); ++end) {
      seconds += mean[end];
      squares += mean[end] * mean[end];
    }
    const auto in_stretch = [&](const std::vector<double>& epoch) {
      return sum_of(std::span(epoch).subspan(begin, end - begin));
    };
    std::vector<double> apart;
    for (std::size_t e = 0; e < one.size(); ++e)
      apart.push_back(std::log(in_stretch(one[e]) / in_stretch(other[e])));
    const double middle = median(apart);
    for (double& a : apart) a = std::clamp(a - middle, -kMost, kMost);
    const double mean_apart = sum_of(apart) / static_cast<double>(apart.size());
    double of_both = 0;
    for (const double a : apart) of_both += (a - mean_apart) * (a - mean_apart);
    of_both /= static_cast<double>(std::max<std::size_t>(2, apart.size()) - 1);
    // As if each operation varied by itself: the sum of n equal ones varies by 1 / n of one's variance.
    sum += of_both / 2 * seconds * seconds / squares;
  }
  return sum / std::max(1, stretches);
}

std::map<std::string, sim::PriceTable> fit_in_place(const std::vector<InPlaceSample>& samples) {
  std::map<std::string, std::map<double, std::vector<Sums>>> by_key;
  for (const InPlaceSample& sample : samples) {
    auto& sums = by_key[sample.key].try_emplace(sample.threads, kBytes.size()).first->second;
    const auto shares = nearness(kBytes, sample.bytes);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      sums[i].measured += shares[i] * sample.measured_seconds;
      sums[i].priced += shares[i] * sample.priced_seconds;
    }
  }
  std::map<std::string, sim::PriceTable> tables;
  for (const auto& [key, by_threads] : by_key) {
    sim::PriceTable& table = tables[key];
    table.axes = {{"threads", {}}, {"bytes", kBytes}};
    for (const auto& [threads, sums] : by_threads) {
      table.axes.front().points.push_back(threads);
      for (const double factor : ratios(sums)) table.seconds.push_back(factor);
    }
  }
  return tables;
}

sim::PriceErrors errors_of(const std::vector<InPlaceSample>& samples) {
  constexpr double kCounts = 0.01;  // of a training
  std::map<sim::Operands, std::set<int>> trainings;
  for (const InPlaceSample& sample : samples) trainings[sample.operands].insert(sample.training);
  Errors all;
  std::map<std::string, Errors> by_kind;
  const auto leave_out = [&](sim::Operands operands, int left_out) {
    std::vector<InPlaceSample> others = only(samples, operands);
    std::erase_if(others, [&](const InPlaceSample& s) { return s.training == left_out; });
    const auto factors = fit_in_place(others);
    std::map<double, std::map<std::string, Sums>> by_threads;
    for (const InPlaceSample& sample : samples) {
      if (sample.training != left_out) continue;
      const auto table = factors.find(sample.key);
      const std::array<double, 2> at{sample.threads, sample.bytes};
      Sums& sums = by_threads[sample.threads][sample.key.substr(0, sample.key.find('/'))];
      sums.measured += sample.measured_seconds;
      sums.priced += sample.priced_seconds *
                     (table == factors.end() ? 1 : sim::interpolate(table->second, at));
    }
    for (const auto& [threads, kinds] : by_threads) {
      Sums total;
      for (const auto& [kind, sums] : kinds) {
        total.measured += sums.measured;
        total.priced += sums.priced;
      }
      const double common = total.priced / total.measured;
      all.add(common);
      for (const auto& [kind, sums] : kinds)
        if (sums.measured >= kCounts * total.measured)
          by_kind[kind].add(sums.priced / sums.measured / common);
    }
  };
  for (const auto& [operands, numbers] : trainings)
    if (numbers.size() > 1)
      for (const int left_out : numbers) leave_out(operands, left_out);
  sim::PriceErrors errors;
  errors.operations = all.mean();
  for (const auto& [kind, of_kind] : by_kind) errors.by_kind[kind] = of_kind.mean();
  return errors;
}

}  // namespace orrery::calibrate
