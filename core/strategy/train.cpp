#include "core/strategy/train.hpp"

#include <array>

#include "core/base/error.hpp"
#include "core/model/network.hpp"

namespace orrery {
namespace {

constexpr std::array kSplits{Split::train, Split::validation, Split::test};

/// Loss and counts of one rank, side by side so that one all-reduce sums them: [loss | 3 counts per
/// split].
constexpr std::int64_t kMetrics = 1 + 3 * static_cast<std::int64_t>(kSplits.size());

std::optional<double> micro_f1(double true_positive, double false_positive, double false_negative) {
  const double all = 2 * true_positive + false_positive + false_negative;
  if (all == 0) return std::nullopt;
  return 2 * true_positive / all;
}

class Trainer {
 public:
  Trainer(Runtime& rt, const StrategyPlan& plan, const Problem& problem,
          const TrainControl& control)
      : rt_(rt), problem_(problem), facts_(problem.facts()), control_(control) {
    rt_.phase({Stage::setup});
    strategy_ = plan.instantiate(rt);
    load_data();
    model_ = make_network(rt, *strategy_, problem.model, problem.train,
                          problem.strategy.first_layer, facts_.features, facts_.classes);
    model_->begin(features_.tensor());
    if (control.resume) restore(*control.resume);
  }

  void run(TrainObserver& observer) {
    const int epochs = problem_.train.epochs;
    const int first = control_.resume ? control_.resume->epochs : 0;
    int step = first * strategy_->steps_per_epoch();
    rt_.sync(rt_.record(Lane::compute));  // set-up is no part of the first epoch
    for (int epoch = first; epoch < epochs; ++epoch) {
      for (int i = 0; i < strategy_->steps_per_epoch(); ++i) do_step(epoch, ++step);
      rt_.sync(rt_.record(Lane::compute));
      const int every = problem_.train.eval_every;
      const bool evaluates = every > 0 && ((epoch + 1) % every == 0 || epoch + 1 == epochs);
      const bool stops = !observer.epoch_done(report(epoch, evaluates));
      const int k = control_.checkpoint_every;
      if (k > 0 && ((epoch + 1) % k == 0 || stops)) keep_checkpoint(epoch + 1, observer);
      if (stops) break;
    }
    finish_checkpoint();
  }

 private:
  void restore(const Checkpoint& from) {
    const auto rows = model_->parameters().state();
    const auto fits = [&](std::size_t i) {
      return from.state[i].size() == static_cast<std::size_t>(rows[i].cols());
    };
    bool same = from.state.size() == rows.size();
    for (std::size_t i = 0; same && i < rows.size(); ++i) same = fits(i);
    if (!same) throw ConfigError("", "the checkpoint holds weights of another model");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto values = std::make_shared<const std::vector<float>>(from.state[i]);
      rt_.submit(Lane::compute, Load{FloatArray{values}, rows[i]});
    }
  }

  /// The values leave on the copy lane and are kept on the host lane, while the next epoch runs.
  void keep_checkpoint(int epochs, TrainObserver& observer) {
    if (rt_.rank() != 0) return;
    finish_checkpoint();
    rt_.wait(Lane::copy, rt_.record(Lane::compute));
    std::vector<std::shared_ptr<std::vector<float>>> saved;
    std::int64_t bytes = 0;
    for (const Tensor& row : model_->parameters().state()) {
      saved.push_back(std::make_shared<std::vector<float>>());
      rt_.submit(Lane::copy, Save{row, saved.back()});
      bytes += row.bytes();
    }
    rt_.wait(Lane::compute, rt_.record(Lane::copy));
    rt_.wait(Lane::host, rt_.record(Lane::copy));
    checkpoint_ = rt_.host(Lane::host, [=, &observer] {
      Checkpoint checkpoint{epochs, {}};
      for (const auto& row : saved) checkpoint.state.push_back(std::move(*row));
      observer.keep(checkpoint);
      return HostWork{"checkpoint", 1, bytes, 1};
    });
  }
  void finish_checkpoint() {
    if (checkpoint_) rt_.join(*checkpoint_);
    checkpoint_.reset();
  }

  void load_data() {
    const PartData data = strategy_->data();
    const auto [first_column, columns] = strategy_->columns(facts_.features);
    features_ = Buffer(rt_, {data.vertices(), columns}, DType::f32, "features");
    rt_.submit(Lane::copy, Load{data.features(first_column), features_.tensor()});

    const std::int64_t own = strategy_->rows(problem_.model.layers);
    labels_ = Buffer(rt_, {own, facts_.multilabel ? facts_.classes : 1}, DType::i32, "labels");
    rt_.submit(Lane::copy, Load{data.labels(own), labels_.tensor()});

    for (std::size_t s = 0; s < kSplits.size(); ++s) {
      const IndexList targets = data.targets(kSplits[s], own);
      targets_[s] = Buffer(rt_, {targets.size(), 1}, DType::i32, "indices/targets");
      rt_.submit(Lane::copy, Load{targets.source(), targets_[s].tensor()});
    }
    metrics_ = Buffer(rt_, {1, kMetrics}, DType::f64, "metrics");
    rt_.submit(Lane::copy, Fill{metrics_.tensor(), 0});
    rt_.wait(Lane::compute, rt_.record(Lane::copy));
    loss_scale_ = 1.0 / static_cast<double>(facts_.training_vertices);
  }

  void do_step(int epoch, int step) {
    const Tensor own = model_->forward(features_.tensor(), Stage::forward, epoch,
                                       static_cast<std::uint32_t>(step));
    const Tensor logits = strategy_->whole_rows(own, classes());
    const bool whole = logits.id == own.id;
    const Tensor gradient = whole ? model_->logits_gradient() : logits;
    rt_.submit(Lane::compute,
               Loss{problem_.train.loss, logits, labels_.tensor(), targets_[0].tensor(), gradient,
                    metrics_.tensor().cols_at(0, 1), loss_scale_});
    if (!whole) {
      const auto [first, count] = strategy_->columns(classes());
      rt_.submit(Lane::compute, Copy{gradient.cols_at(first, count), model_->logits_gradient()});
    }
    model_->backward(features_.tensor(), epoch);
    rt_.phase({Stage::synchronise, epoch});
    strategy_->synchronise(model_->parameters().gradients());
    rt_.phase({Stage::update, epoch});
    model_->parameters().update(rt_, problem_.train, step);
  }

  EpochReport report(int epoch, bool evaluates) {
    rt_.phase({Stage::evaluate, epoch});
    if (evaluates) {
      const Tensor logits = strategy_->whole_rows(
          model_->forward(features_.tensor(), Stage::evaluate, epoch, std::nullopt), classes());
      for (std::size_t s = 0; s < kSplits.size(); ++s)
        rt_.submit(Lane::compute,
                   Score{problem_.train.loss, logits, labels_.tensor(), targets_[s].tensor(),
                         metric(1 + 3 * static_cast<std::int64_t>(s), 3)});
    }
    const Tensor summed = metric(0, evaluates ? kMetrics : 1);
    rt_.wait(Lane::comm, rt_.record(Lane::compute));
    rt_.submit(Lane::comm, AllReduce{summed, strategy_->covering_group()});
    rt_.wait(Lane::compute, rt_.record(Lane::comm));

    EpochReport result{epoch, rt_.scalar(Lane::comm, metric(0, 1)), std::nullopt};
    if (evaluates) result.scores = read_scores();
    return result;
  }

  /// Nothing without values; the reads themselves are the same in every mode.
  std::optional<Accuracies> read_scores() {
    std::array<std::optional<double>, kMetrics - 1> counts;
    for (std::size_t i = 0; i < counts.size(); ++i)
      counts[i] = rt_.scalar(Lane::comm, metric(1 + static_cast<std::int64_t>(i), 1));
    if (!counts[0]) return std::nullopt;
    const auto f1 = [&](std::size_t split) {
      return micro_f1(*counts[3 * split], *counts[3 * split + 1], *counts[3 * split + 2]);
    };
    return Accuracies{f1(0), f1(1), f1(2)};
  }

  std::int64_t classes() const { return facts_.classes; }

  Tensor metric(std::int64_t first, std::int64_t count) const {
    return metrics_.tensor().cols_at(first, count);
  }

  Runtime& rt_;
  const Problem& problem_;
  const DataFacts facts_;
  const TrainControl& control_;
  std::optional<Task> checkpoint_;  ///< being kept
  std::unique_ptr<Strategy> strategy_;
  Buffer features_, labels_, metrics_;
  std::array<Buffer, 3> targets_;  ///< rows of each split
  std::unique_ptr<Network> model_;
  double loss_scale_ = 0;
};

}  // namespace

void require_trainable(const Problem& problem) {
  const DataFacts facts = problem.facts();
  const std::string name = "'" + facts.name + "'";
  if (facts.features == 0)
    throw ConfigError("dataset.features",
                      name +
                          " has no features; set it to {\"random\": width} to train on made-up "
                          "ones");
  if (facts.classes == 0) throw ConfigError("dataset", name + " has no labels to train on");
  if (facts.multilabel && problem.train.loss == LossKind::softmax)
    throw ConfigError("train.loss", name + " has several labels per vertex: use \"sigmoid\"");
  if (!facts.multilabel && problem.train.loss == LossKind::sigmoid)
    throw ConfigError("train.loss", name + " has one label per vertex: use \"softmax\"");
  if (facts.training_vertices == 0)
    throw ConfigError("dataset.split", name + " has no training vertices");
}

void train(Runtime& rt, const StrategyPlan& plan, const Problem& problem, TrainObserver& observer,
           const TrainControl& control) {
  Trainer(rt, plan, problem, control).run(observer);
}

}  // namespace orrery
