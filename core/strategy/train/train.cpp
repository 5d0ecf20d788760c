#include "core/strategy/train/train.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/model/network/network.hpp"
#include "core/model/network/tape.hpp"
#include "core/strategy/train/checkpoints.hpp"
#include "core/strategy/train/class_weights.hpp"
#include "core/strategy/train/find_divergence.hpp"
#include "core/strategy/train/gradient_buckets.hpp"
#include "core/strategy/train/link_objective.hpp"
#include "core/strategy/train/local_models.hpp"
#include "core/strategy/train/prefetch.hpp"
#include "core/strategy/train/step_data.hpp"

namespace orrery {
namespace {

constexpr std::array kSplits{Split::train, Split::validation, Split::test};

/// Whether the training stops at, or keeps, an epoch that validation vertices choose.
bool chooses_epoch(const TrainConfig& train) {
  return train.patience > 0 || train.keep_best || train.best_by == BestBy::accuracy_and_loss;
}

[[noreturn]] void refuse_without_validation() {
  throw ConfigError("dataset.split",
                    "has no validation vertices, by which training would stop or choose its best "
                    "epoch: leave out train.patience, train.keep_best and train.best_by");
}

constexpr std::int64_t kCounts = 3 * static_cast<std::int64_t>(kSplits.size());

std::optional<double> micro_f1(double true_positive, double false_positive, double false_negative) {
  const double all = 2 * true_positive + false_positive + false_negative;
  if (all == 0) return std::nullopt;
  return 2 * true_positive / all;
}

class Trainer {
 public:
  Trainer(Runtime& rt, const Strategy& strategy, const Problem& problem, const RunControl& control)
      : rt_(rt),
        loading_(rt),
        strategy_(strategy),
        problem_(problem),
        facts_(problem.facts()),
        class_weights_(class_weights(problem)),
        control_(control),
        schedule_(strategy.schedule(rt.rank())) {
    if (first_step(first_epoch()) > 0 && first_step(first_epoch()) >= steps_of(first_epoch()))
      throw ConfigError("strategy",
                        "the checkpoint was kept within an epoch with more steps than these "
                        "settings give: resume with the settings of that run");
    rt_.phase({Stage::setup});
    session_ = strategy.open(loading_);
    const auto first = first_structure();
    if (schedule_.ahead && !schedule_.stays())
      // A recording of only the first epochs then also sees what is loaded ahead beside the last of
      // them.
      prefetch_.emplace(loading_, strategy, *session_, problem, schedule_, first_epoch(),
                        std::max(epochs(), problem.train.epochs), first_step(first_epoch()));
    else if (first)
      load(*first);
    if (data_ && steps_of(first_epoch()) > 0) loads_ = 1;
    if (in_turns()) most_epochs_ = std::min(schedule_.local->interval, epochs());
    metrics_ = Buffer(rt_, {1, most_epochs_ + evaluated()}, DType::f64, "metrics");
    rt_.submit(Lane::copy, Fill{metrics_.tensor(), 0});
    if (control.checkpoint_steps > 0)
      losses_of_ranks_ = Buffer(rt_, {1, rt.size()}, DType::f64, "metrics/losses of ranks");
    rt_.wait(Lane::compute, rt_.record(Lane::copy));
    if (problem.links) links_.emplace(rt, problem, strategy);
    model_ = make_network(rt, problem.model, problem.train, first_layer(), facts_.features,
                          facts_.classes, ModelUse::training, [&](Parameters& parameters) {
                            const bool decays = problem.train.weight_decay_on == WeightDecayOn::all;
                            const int layer = problem.model.layers + problem.model.dense_layers + 1;
                            if (links_) links_->decoder().declare(parameters, layer, decays);
                          });
    if (links_) links_->allocate(model_->parameters());
    if (session_->learned_table() != nullptr) model_->want_features_gradient();
    if (data_) attach(*data_);
    if (schedule_.local) local_.emplace(rt, model_->parameters(), *schedule_.local);
    checkpoints_.emplace(rt, strategy, model_->parameters(), local_ ? &*local_ : nullptr,
                         session_->learned_table());
    if (control.resume) checkpoints_->restore(*control.resume);
    if (control.start && !control.resume) checkpoints_->start(*control.start);
    if (control.resume) best_ = control.resume->best;
  }

  void run(RunObserver& observer) {
    int step = 0;
    for (int epoch = 0; epoch < first_epoch(); ++epoch) step += steps_of(epoch);
    step += first_step(first_epoch());
    // Set-up does not belong to the first epoch, and neither does loading for its first step.
    if (prefetch_) rt_.sync(rt_.record(Lane::copy));
    rt_.sync(rt_.record(Lane::compute));
    for (int first = first_epoch(); first < epochs(); first = turn_.last + 1) {
      turn_ = turn_from(first);
      ORRERY_ASSERT(!local_ || steps_of(first) == schedule_.local->first_step(local_->count()));
      if (!one_step(first)) begin_sum({Stage::load, first}, losses(), loss_so_far(first));
      for (int i = first_step(first); i < steps_of(first); ++i) {
        const auto place = local_ ? schedule_.local->place_of(i) : LocalTraining::Place{};
        if (local_) local_->begin_step(place.model);
        for (int epoch = first; epoch <= turn_.last; ++epoch) {
          ++step;
          // A local model counts only its own steps.
          if (local_) step = epoch * schedule_.local->steps_of(place.model) + place.step + 1;
          do_step(schedule_.training->at(epoch, i), epoch, step);
          // So that its time is measured separately.
          if (turn_.last > turn_.first) rt_.sync(rt_.record(Lane::compute));
        }
        if (local_) local_->end_step(place.model);
        if (checkpoint_within(first, i)) keep_within(first, i, observer);
      }
      if (averages_after(turn_.last)) {
        rt_.phase({Stage::synchronise, turn_.last});
        local_->average();
      }
      rt_.sync(rt_.record(Lane::compute));
      const std::vector<EpochReport> done = report(observer);
      const bool stops = !observer.epochs_done(done) || done.back().stops_early;
      if (done.back().divergence) break;  // on all ranks: the loss is the same on all of them
      const bool keeps = control_.checkpoint_every > 0 || control_.checkpoint_steps > 0;
      if (checkpoint_after(turn_.last) || (stops && keeps))
        checkpoints_->keep({turn_.last + 1, {}, 0, {}, best_}, observer);
      if (stops) break;
    }
    if (prefetch_) prefetch_->stop();
    session_->close();
    checkpoints_->finish();
  }

 private:
  int epochs() const { return control_.epochs.value_or(problem_.train.epochs); }
  int first_epoch() const { return control_.resume ? control_.resume->epochs : 0; }
  int steps_of(int epoch) const { return schedule_.training->count(epoch); }
  /// The first step of an epoch in this run: 0, or the one at which a resumed run continues.
  int first_step(int epoch) const {
    return control_.resume && epoch == control_.resume->epochs ? control_.resume->steps : 0;
  }

  /// Number of epochs that run together: one, unless local models take turns.
  struct Turn {
    int first = 0, last = 0;
  };
  Turn turn_from(int first) const {
    Turn turn{first, first};
    if (in_turns())
      while (turn.last + 1 < epochs() && !averages_after(turn.last) &&
             !evaluates_after(turn.last) && !checkpoint_after(turn.last))
        ++turn.last;
    return turn;
  }
  bool in_turns() const { return schedule_.local && schedule_.local->in_turns && !schedule_.ahead; }
  bool averages_after(int epoch) const { return local_ && local_->averaged_after(epoch); }
  bool evaluates_after(int epoch) const {
    const int every = problem_.train.eval_every;
    return every > 0 && ((epoch + 1) % every == 0 || epoch + 1 == epochs());
  }
  bool checkpoint_after(int epoch) const {
    const int every = control_.checkpoint_every;
    return every > 0 && (epoch + 1) % every == 0;
  }

  bool checkpoint_within(int epoch, int step) const {
    const int every = control_.checkpoint_steps;
    return every > 0 && (step + 1) % every == 0 && step + 1 < steps_of(epoch);
  }
  /// The losses of the ranks separately, so that their sum has the same rounding.
  void keep_within(int epoch, int step, RunObserver& observer) {
    rt_.phase({Stage::update, epoch});
    const Tensor all = losses_of_ranks_.tensor();
    const Lane lane = metrics_lane();
    rt_.submit(Lane::compute, Fill{all, 0});
    rt_.submit(Lane::compute, Copy{loss_of(epoch), all.cols_at(rt_.rank(), 1)});
    rt_.wait(lane, rt_.record(Lane::compute));
    rt_.submit(lane, AllReduce{all, world_group(rt_.size())});
    rt_.wait(Lane::compute, rt_.record(lane));
    Checkpoint checkpoint{epoch, {}, step + 1, {}, best_};
    for (int rank = 0; rank < rt_.size(); ++rank)
      checkpoint.losses.push_back(rt_.scalar(lane, all.cols_at(rank, 1)).value_or(0));
    checkpoints_->keep(std::move(checkpoint), observer);
  }
  /// This rank's loss over the steps of the epoch that were done before the run was resumed. If the
  /// number of ranks has changed, rank 0 has the losses of all.
  double loss_so_far(int epoch) const {
    if (first_step(epoch) == 0) return 0;
    const std::vector<double>& losses = control_.resume->losses;
    if (losses.size() == orrery::at(rt_.size())) return losses[orrery::at(rt_.rank())];
    return rt_.rank() == 0 ? std::accumulate(losses.begin(), losses.end(), 0.0) : 0;
  }

  /// The structure that is loaded before the first epoch; nothing for a rank without work.
  std::optional<StructureId> first_structure() const {
    const int epoch = first_epoch();
    if (steps_of(epoch) > 0) return schedule_.training->at(epoch, first_step(epoch)).structure;
    if (schedule_.evaluation.empty()) return std::nullopt;
    return StructureId{schedule_.evaluation.front(), 0};
  }

  /// Frees the structure of data_ on the device, unless it keeps rows for the next step, and loads
  /// this one.
  void load(const StructureId& next) {
    if (data_) {
      rt_.sync(rt_.record(Lane::compute));  // otherwise both would be loaded for a while
      tape_.clear();
      if (!prefetch_) model_->detach();
      if (schedule_.keeps_rows && !kept_)
        kept_ = {std::move(data_), loaded_};
      else
        data_.reset();
    }
    if (kept_ && kept_->which == next) {
      data_ = std::move(kept_->data);
      kept_.reset();
      loaded_ = next;
      return;
    }
    data_ = std::make_unique<StepData>(rt_, session_->load(strategy_.prepare(rt_.rank(), next)),
                                       problem_.model, facts_, !problem_.links, class_weights_);
    loaded_ = next;
  }
  /// The same if another structure is loaded, with the model on it.
  void use(const StructureId& next, const Phase& loading, bool trains = true) {
    if (data_ && loaded_ == next) return;
    rt_.phase(loading);
    load(next);
    if (loading.in_epoch()) ++loads_;
    rt_.wait(Lane::compute, rt_.record(Lane::copy));
    // Otherwise buffers of the model that grow would exist twice for a while.
    if (prefetch_) rt_.sync(rt_.record(Lane::compute));
    attach(*data_, trains);
  }
  void attach(StepData& data, bool trains = true) {
    on_ = &data;
    tape_.clear();
    model_->attach(products(), data.features(), data.sparse_features());
    if (trains && problem_.strategy.memory == Memory::autograd)
      tape_ = hold_tape(rt_, tape_of(problem_.model, products(), facts_.features, classes()));
  }

  /// The model is on the structure of the step.
  void begin_step(const TrainStep& next, int epoch) {
    if (!prefetch_) return use(next.structure, {Stage::load, epoch});
    rt_.phase({Stage::load, epoch});
    attach(prefetch_->turn());
    ++loads_;
    rt_.phase({Stage::sample, epoch});
    prefetch_->prepare();
  }
  void end_step(int epoch) {
    if (!prefetch_) return;
    rt_.phase({Stage::load, epoch});
    prefetch_->advance();
  }

  /// If the structure is unloaded after each step, caching A·x does not pay; if features are
  /// learned, x changes: recompute it.
  FirstLayer first_layer() const {
    const FirstLayer asked = problem_.strategy.first_layer;
    const bool constant = schedule_.stays() && session_->learned_table() == nullptr;
    return asked == FirstLayer::exact && !constant ? FirstLayer::recompute : asked;
  }

  void do_step(const TrainStep& next, int epoch, int step) {
    begin_step(next, epoch);
    products().begin(Stage::forward, epoch);
    const Tensor own =
        model_->forward(on_->features(), Stage::forward, epoch, static_cast<std::uint32_t>(step));
    if (links_)
      links_->learn(products(), own, model_->logits_gradient(), epoch, next.structure.number,
                    loss_of(epoch), !one_step(epoch));
    else
      learn_labels(own, next, epoch);
    GradientBuckets buckets(rt_, products(), model_->parameters(), problem_.train.bucket_bytes,
                            epoch);
    model_->backward(on_->features(), epoch, [&](int parameter) { buckets.ready_from(parameter); });
    buckets.finish();
    if (session_->learned_table() != nullptr)
      products().learn_features(model_->features_gradient(), epoch, step);
    rt_.phase({Stage::update, epoch});
    model_->parameters().update(rt_, problem_.train, epoch, step);
    end_step(epoch);
  }

  /// Sets the gradient at the logits, which this rank may have some columns of.
  void learn_labels(const Tensor& own, const TrainStep& next, int epoch) {
    const auto all = static_cast<double>(facts_.training_vertices);
    const double vertices = next.averaged_over.value_or(all);
    const Tensor logits = products().whole_rows(own, classes());
    const bool whole = logits.id == own.id;
    const Tensor gradient = whole ? model_->logits_gradient() : logits;
    rt_.submit(Lane::compute,
               Loss{problem_.train.loss, logits, on_->labels(), on_->targets(Split::train),
                    gradient, loss_of(epoch), 1 / vertices, vertices / all, !one_step(epoch),
                    on_->target_weights()});
    if (!whole) {
      const auto [first, count] = products().columns(classes());
      rt_.submit(Lane::compute, Copy{gradient.cols_at(first, count), model_->logits_gradient()});
    }
  }

  /// Reports of the epochs of the turn; evaluates the last one if that is due.
  std::vector<EpochReport> report(RunObserver& observer) {
    const int epoch = turn_.last;
    const bool evaluates = evaluates_after(epoch);
    rt_.phase({Stage::evaluate, epoch});
    // It replaces the weights until all is reported.
    std::optional<LocalModels::ForNow> average;
    const auto use_average = [&] {
      if (local_ && !averages_after(epoch) && !average) average.emplace(*local_);
    };
    if (evaluates) {
      use_average();
      evaluate(epoch);
    }
    const Tensor summed = evaluates && !links_ ? losses_and_counts() : losses();
    const Lane lane = metrics_lane();
    rt_.wait(lane, rt_.record(Lane::compute));
    rt_.submit(lane, AllReduce{summed, covering_group()});
    rt_.wait(Lane::compute, rt_.record(lane));

    std::vector<EpochReport> reports;
    for (int e = turn_.first; e <= epoch; ++e) {
      reports.push_back({e, rt_.scalar(lane, loss_of(e)), std::nullopt});
      if (const auto loss = reports.back().loss; loss && !std::isfinite(*loss)) {
        use_average();
        reports.back().divergence = local_ ? weights_divergence() : gradients_divergence();
        break;
      }
    }
    // No later loss would show what the last update did to the weights.
    EpochReport& last = reports.back();
    const bool whole = !local_ || averages_after(epoch) || average;
    if (control_.inspects_weights && epoch + 1 == epochs() && !last.divergence && whole)
      if (const auto found = weights_divergence(); found.layer) last.divergence = found;
    reports.front().loads = std::exchange(loads_, 0);
    const RowUse before = std::exchange(row_use_, session_->row_use());
    reports.front().rows = {row_use_.foreign - before.foreign, row_use_.kept - before.kept};
    if (evaluates && reports.back().epoch == epoch) add_scores(reports.back());
    require_validation(last);
    const bool best = !last.divergence && note_epoch(best_, last, problem_.train.best_by);
    last.stops_early = !best && out_of_patience(epoch);
    if (best && problem_.train.keep_best)
      checkpoints_->keep_best({epoch + 1, {}, 0, {}, best_}, observer);
    return reports;
  }

  void require_validation(const EpochReport& report) const {
    if (chooses_epoch(problem_.train) && report.scores && !report.scores->validation)
      refuse_without_validation();
  }
  /// Counts evaluations, which come every eval_every epochs and after the last.
  bool out_of_patience(int epoch) const {
    const int patience = problem_.train.patience;
    return patience > 0 && best_ && evaluates_after(epoch) &&
           epoch - best_->as_good >= patience * problem_.train.eval_every;
  }

  Divergence gradients_divergence() {
    return find_divergence(rt_, model_->parameters(), Divergence::Of::gradients);
  }
  Divergence weights_divergence() {
    return find_divergence(rt_, model_->parameters(), Divergence::Of::weights);
  }

  void evaluate(int epoch) {
    const bool several = schedule_.evaluation.size() != 1;
    if (several) begin_sum({Stage::evaluate, epoch}, counts(0, evaluated()));
    std::int64_t validation = 0;
    for (const int structure : schedule_.evaluation) {
      use({structure, 0}, {Stage::evaluate, epoch}, trains_on(structure));
      products().begin(Stage::evaluate, epoch);
      const Tensor own = model_->forward(on_->features(), Stage::evaluate, epoch, std::nullopt);
      if (links_) {
        link_scores_ = links_->score(own);
        continue;
      }
      const Tensor logits = products().whole_rows(own, classes());
      for (std::size_t s = 0; s < kSplits.size(); ++s)
        rt_.submit(Lane::compute,
                   Score{problem_.train.loss, logits, on_->labels(), on_->targets(kSplits[s]),
                         counts(3 * static_cast<std::int64_t>(s), 3), several});
      if (!weighs_loss()) continue;
      const Tensor targets = on_->targets(Split::validation);
      validation += targets.rows();
      // The gradient goes where nothing reads the logits any more.
      rt_.submit(Lane::compute, Loss{problem_.train.loss, logits, on_->labels(), targets, logits,
                                     validation_loss(), 1, 1, several});
    }
    if (weighs_loss())
      rt_.submit(Lane::compute, Fill{validation_count(), static_cast<double>(validation)});
    if (prefetch_) return leave_evaluation();
    // Reload the training structure now, so that the next epoch is not charged for what evaluation
    // evicted.
    const auto fixed = schedule_.training->fixed();
    if (fixed && fixed->size() == 1) use(fixed->front(), {Stage::evaluate, epoch});
  }

  /// Whether steps work on this structure, too, and keep a tape on it; as far as it is known.
  bool trains_on(int structure) const {
    const auto fixed = schedule_.training->fixed();
    return !fixed ||
           std::find(fixed->begin(), fixed->end(), StructureId{structure, 0}) != fixed->end();
  }

  /// Steps have structures of their own; those of an evaluation are loaded in addition.
  void leave_evaluation() {
    tape_.clear();
    data_.reset();
    on_ = prefetch_->current();
  }

  void add_scores(EpochReport& report) {
    if (!links_) {
      report.scores = read_scores();
      report.validation_loss = read_validation_loss();
      return;
    }
    report.links = link_scores_;
    if (!link_scores_) return;
    const auto auc = [](const std::optional<LinkScores>& of) {
      return of ? std::optional(of->auc) : std::nullopt;
    };
    report.scores = {std::nullopt, auc(link_scores_->validation), auc(link_scores_->test)};
  }

  /// Nothing without values; the reads themselves are the same in every mode.
  std::optional<Accuracies> read_scores() {
    std::array<std::optional<double>, kCounts> read;
    for (std::size_t i = 0; i < read.size(); ++i)
      read[i] = rt_.scalar(metrics_lane(), counts(static_cast<std::int64_t>(i), 1));
    if (!read[0]) return std::nullopt;
    const auto f1 = [&](std::size_t split) {
      return micro_f1(*read[3 * split], *read[3 * split + 1], *read[3 * split + 2]);
    };
    return Accuracies{f1(0), f1(1), f1(2)};
  }

  std::optional<double> read_validation_loss() {
    if (!weighs_loss()) return std::nullopt;
    const auto sum = rt_.scalar(metrics_lane(), validation_loss()),
               vertices = rt_.scalar(metrics_lane(), validation_count());
    if (!sum || !vertices || *vertices == 0) return std::nullopt;
    return *sum / *vertices;
  }

  /// Sums to which steps will add.
  void begin_sum(const Phase& phase, const Tensor& sum, double from = 0) {
    rt_.phase(phase);
    rt_.submit(Lane::compute, Fill{sum, from});
  }

  bool one_step(int epoch) const { return steps_of(epoch) == 1; }
  RankProducts& products() const { return on_->products(); }
  Group covering_group() const {
    return on_ != nullptr ? products().covering_group() : world_group(rt_.size());
  }
  Lane metrics_lane() const { return on_ != nullptr ? products().metrics_lane() : Lane::comm; }
  std::int64_t classes() const { return facts_.classes; }

  /// Whether evaluations compute the loss of the validation vertices, too.
  bool weighs_loss() const { return problem_.train.best_by == BestBy::accuracy_and_loss; }
  std::int64_t evaluated() const { return kCounts + (weighs_loss() ? 2 : 0); }

  /// Losses of the turn and counts of one rank stand side by side, so that one all-reduce sums
  /// them: [.. losses | 3 counts per split | loss and number of validation vertices].
  Tensor losses() const {
    const std::int64_t n = turn_.last + 1 - turn_.first;
    return metrics_.tensor().cols_at(most_epochs_ - n, n);
  }
  Tensor loss_of(int epoch) const {
    return metrics_.tensor().cols_at(most_epochs_ - 1 - (turn_.last - epoch), 1);
  }
  Tensor counts(std::int64_t first, std::int64_t count) const {
    return metrics_.tensor().cols_at(most_epochs_ + first, count);
  }
  Tensor validation_loss() const { return counts(kCounts, 1); }
  Tensor validation_count() const { return counts(kCounts + 1, 1); }
  Tensor losses_and_counts() const {
    const std::int64_t n = turn_.last + 1 - turn_.first;
    return metrics_.tensor().cols_at(most_epochs_ - n, n + evaluated());
  }

  Runtime& rt_;
  LoadingRuntime loading_;  ///< the same
  const Strategy& strategy_;
  const Problem& problem_;
  const DataFacts facts_;
  const std::vector<float> class_weights_;
  const RunControl& control_;
  const Schedule schedule_;
  std::unique_ptr<RankSession> session_;
  std::optional<Prefetch> prefetch_;  ///< of structures that are prepared ahead
  std::unique_ptr<StepData> data_;    ///< the structure that replaced the last one,
  StructureId loaded_;                ///< and which it is
  struct Kept {
    std::unique_ptr<StepData> data;
    StructureId which;
  };
  std::optional<Kept> kept_;       ///< the structure of the steps while others are evaluated
  StepData* on_ = nullptr;         ///< the structure that the model works on now
  std::optional<BestSoFar> best_;  ///< of all epochs, those before a checkpoint too
  int loads_ = 0;                  ///< for steps, since the last report
  RowUse row_use_;                 ///< at the last report
  Turn turn_;                      ///< the epochs of the present turn
  std::int64_t most_epochs_ = 1;   ///< of a turn
  Buffer metrics_;
  Buffer losses_of_ranks_;                    ///< where checkpoints are kept within epochs
  std::optional<LinkObjective> links_;        ///< where these are learned, in the place of labels
  std::optional<HeldOutScores> link_scores_;  ///< of the last evaluation
  std::unique_ptr<Network> model_;
  std::vector<Buffer> tape_;          ///< kept for the forecast of other programs
  std::optional<LocalModels> local_;  ///< models of the rank's steps; else they train model_
  std::optional<Checkpoints> checkpoints_;
};

}  // namespace

void require_trainable(const Problem& problem) {
  const DataFacts facts = problem.facts();
  const std::string name = "'" + facts.name + "'";
  if (facts.vertices == 0) throw ConfigError("dataset", name + " has no vertices");
  if (facts.features == 0)
    throw ConfigError(
        "dataset.features",
        name + (facts.generated ? " has no features; set it to the width of generated ones, such "
                                  "as 64"
                                : " has no features; set it to {\"random\": width} to train on "
                                  "random ones"));
  if (problem.links) return;
  if (facts.classes == 0)
    throw ConfigError("dataset", name +
                                     " has no labels to train on; a folder has them in "
                                     "labels.npy, generated data if dataset.classes is above 0");
  if (facts.multilabel && problem.train.loss == LossKind::softmax)
    throw ConfigError("train.loss", name + " has several labels per vertex: use \"sigmoid\"");
  if (!facts.multilabel && problem.train.loss == LossKind::sigmoid)
    throw ConfigError("train.loss", name + " has one label per vertex: use \"softmax\"");
  if (facts.training_vertices == 0)
    throw ConfigError("dataset.split", name + " has no training vertices");
  const Dataset* evaluated = problem.whole ? problem.whole->data.get() : problem.data.get();
  if (chooses_epoch(problem.train) && evaluated != nullptr &&
      std::find(evaluated->split.begin(), evaluated->split.end(), Split::validation) ==
          evaluated->split.end())
    refuse_without_validation();
  class_weights(problem);
}

void require_steps_to_keep(const Strategy& strategy, int checkpoint_steps) {
  if (checkpoint_steps == 0) return;
  if (const int steps = strategy.schedule(0).training->count(0); steps <= checkpoint_steps)
    throw ConfigError("train.checkpoint_steps",
                      fmt::format("found {}, but an epoch has {} step{} here: set it to fewer, or "
                                  "use train.checkpoint_every",
                                  checkpoint_steps, steps, steps == 1 ? "" : "s"));
}

void train(Runtime& rt, const Strategy& strategy, const Problem& problem, RunObserver& observer,
           const RunControl& control) {
  if (control.resume || control.checkpoint_every > 0 || control.checkpoint_steps > 0)
    require_resumable(problem.strategy);
  require_steps_to_keep(strategy, control.checkpoint_steps);
  Trainer(rt, strategy, problem, control).run(observer);
}

}  // namespace orrery
