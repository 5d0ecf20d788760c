#include "core/strategy/train/link_objective.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/model/make_fit.hpp"
#include "core/strategy/edges/load_indices.hpp"
#include "core/strategy/product/batch_products.hpp"
#include "core/strategy/train/link_scores.hpp"

namespace orrery {
namespace {

/// Pairs that are worked on at once: their rows take 16 MiB where these have 64 columns.
constexpr std::int64_t kSlabPairs = std::int64_t{1} << 16;

const LinkBatches& links_of(const Strategy& strategy) {
  const LinkBatches* links = strategy.links();
  ORRERY_ASSERT(links != nullptr && "a strategy that predicts no links");
  return *links;
}

IndexList listed(std::vector<Vertex> numbers) {
  return IndexList(std::make_shared<const std::vector<Vertex>>(std::move(numbers)));
}

/// One entry in each row.
std::shared_ptr<const Csr> picks(const std::vector<Vertex>& columns, std::int64_t all) {
  auto pattern = std::make_shared<Csr>();
  pattern->rows = std::ssize(columns);
  pattern->cols = all;
  pattern->columns = columns;
  pattern->offsets.resize(columns.size() + 1);
  std::iota(pattern->offsets.begin(), pattern->offsets.end(), EdgeIndex{0});
  return pattern;
}

std::vector<Vertex> first_numbers(std::int64_t count) {
  std::vector<Vertex> numbers(at(count));
  std::iota(numbers.begin(), numbers.end(), Vertex{0});
  return numbers;
}

}  // namespace

LinkObjective::LinkObjective(Runtime& rt, const Problem& problem, const Strategy& strategy)
    : rt_(rt), links_(links_of(strategy)), config_(problem.links->config), decoder_(rt, config_) {}

std::int64_t LinkObjective::slab_links(int per_link) const {
  return std::max<std::int64_t>(1, kSlabPairs / (1 + per_link));
}

void LinkObjective::allocate(const Parameters& parameters) {
  const auto most = [&](int per_link) { return slab_links(per_link) * (1 + per_link); };
  const std::int64_t links =
      links_.task().validation.links.empty() && links_.task().test.links.empty()
          ? 0
          : most(config_.held_out_negatives);
  // No step has more pairs than there are links with their negatives.
  const std::int64_t step = std::min(most(config_.negatives_per_link),
                                     links_.most_links() * (1 + config_.negatives_per_link));
  const std::int64_t held_out = std::min(links, std::max(std::ssize(links_.task().validation.links),
                                                         std::ssize(links_.task().test.links)) *
                                                    (1 + config_.held_out_negatives));
  const std::int64_t pairs = std::max(step, held_out);
  decoder_.allocate(parameters, pairs);
  score_gradients_ = Buffer(rt_, {step, 1}, DType::f32, "links/gradients of scores");
  if (config_.loss != PairLoss::margin) return;
  margin_ = Buffer(rt_, {1, 1}, DType::f32, "links/margin");
  rt_.submit(Lane::compute, Fill{margin_.tensor(), config_.margin});
  step_losses_ = Buffer(rt_, {links_.steps(), 1}, DType::f32, "links/losses of steps");
  unused_ = Buffer(rt_, {1, 1}, DType::f64, "links/squares of losses");
}

PairEnds LinkObjective::Slab::ends() const {
  return {left.tensor(), right.tensor(), at_left.sparse(), at_right.sparse()};
}

LinkObjective::Slab LinkObjective::slab(const PairRows& pairs, std::int64_t first,
                                        std::int64_t last, std::int64_t all_rows) const {
  const auto part = [&](const std::vector<Vertex>& of) {
    const auto begin = of.begin();
    std::vector<Vertex> rows(begin + first, begin + last);
    rows.insert(rows.end(), begin + pairs.links + first * pairs.per_link,
                begin + pairs.links + last * pairs.per_link);
    return rows;
  };
  std::vector<Vertex> left = part(pairs.left), right = part(pairs.right);
  Slab made;
  made.links = last - first;
  made.at_left = SparseBuffer(rt_, Lane::copy, picks(left, all_rows), "links/left ends");
  made.at_right = SparseBuffer(rt_, Lane::copy, picks(right, all_rows), "links/right ends");
  made.left = load_indices(rt_, listed(std::move(left)), "links/rows of left ends");
  made.right = load_indices(rt_, listed(std::move(right)), "links/rows of right ends");
  rt_.wait(Lane::compute, rt_.record(Lane::copy));
  return made;
}

Tensor LinkObjective::with_received(const PairRows& pairs, const Tensor& rows) {
  const std::int64_t own = rows.rows(), width = config_.width;
  const auto sum = [](const std::vector<std::int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  };
  const std::int64_t received = sum(pairs.receive), sent = std::ssize(pairs.send_rows);
  rt_.sync(rt_.record(
      Lane::compute));  // else outgoing and incoming rows would be there at the same time
  make_fit(rt_, rows_, {own + received, width}, "links/rows of vertices");
  const Tensor all = rows_.view(own + received, width);
  rt_.submit(Lane::compute, Copy{rows, all.rows_at(0, own)});
  exchange_.reset();
  halo_.reset();
  if (pairs.receive.size() <= 1) return all;  // all are at hand
  halo_.emplace();
  halo_->receive = std::make_shared<const std::vector<std::int64_t>>(pairs.receive);
  halo_->send = std::make_shared<const std::vector<std::int64_t>>(pairs.send);
  halo_->send_rows = listed(pairs.send_rows);
  halo_->own_block.pattern = Counts{own, own, 0};
  halo_->halo_block.pattern = Counts{own, received, 0};
  exchange_.emplace(rt_, *halo_, world_group(rt_.size()), false);
  make_fit(rt_, sent_, {sent, width}, "links/rows sent");
  exchange_->bring(all, sent_.view(sent, width), [] {});
  return all;
}

LinkBatches::OfRanks LinkObjective::rows_of_step(int epoch, int step) {
  // Owned by the task, which may outlive a run that fails.
  const auto made = std::make_shared<LinkBatches::OfRanks>();
  const Task drawing = rt_.host(Lane::sampler, [made, this, epoch, step] {
    *made = links_.rows_of_step(epoch, step);
    std::int64_t pairs = 0;  // each process finds those of all ranks
    for (const PairRows& of_rank : **made) pairs += of_rank.pairs();
    return pairing_work(pairs, links_.graph_bytes());
  });
  rt_.join(drawing);
  return *made;
}

void LinkObjective::learn(const RankProducts& products, const Tensor& rows, const Tensor& gradient,
                          int epoch, int step, const Tensor& loss, bool accumulate) {
  rt_.phase({Stage::forward, epoch});
  const std::shared_ptr<const PairRows> of_batch = products.pairs();
  const LinkBatches::OfRanks of_ranks = of_batch ? nullptr : rows_of_step(epoch, step);
  const PairRows& pairs = of_batch ? *of_batch : (*of_ranks)[at(rt_.rank())];
  const Tensor x = with_received(pairs, rows);
  make_fit(rt_, gradient_, x.shape, "links/gradient of rows");
  const Tensor dx = gradient_.view(x.rows(), x.cols());
  rt_.submit(Lane::compute, Fill{dx, 0});

  const auto links = static_cast<double>(links_.links(step));
  const double of_link = config_.loss == PairLoss::margin ? config_.negatives_per_link
                                                          : 1 + config_.negatives_per_link;
  StepLoss of_step{1 / (links * of_link), links / static_cast<double>(links_.links()), loss, step,
                   accumulate};
  const std::int64_t each = slab_links(pairs.per_link);
  std::int64_t first = 0;
  do {  // also without any, for the gradients of the decoder
    const Slab here = slab(pairs, first, std::min(first + each, pairs.links), x.rows());
    const std::int64_t count = here.links * (1 + pairs.per_link);
    make_fit(rt_, scores_, {count, 1}, "links/scores");
    const Tensor scores = scores_.view(count, 1), dscores = score_gradients_.view(count, 1);
    decoder_.forward(x, here.ends(), scores);
    if (config_.loss == PairLoss::margin)
      margin_loss(here.links, pairs.per_link, scores, dscores, of_step, first == 0);
    else
      cross_entropy(here.links, scores, dscores, of_step);
    of_step.accumulate = true;
    decoder_.backward(x, here.ends(), dscores, dx, first > 0);
    first += each;
    rt_.sync(rt_.record(Lane::compute));  // before the next slab takes memory
  } while (first < pairs.links);

  rt_.phase({Stage::backward, epoch});
  const std::int64_t sent = std::ssize(pairs.send_rows);
  if (exchange_) exchange_->bring_adjoint(dx, sent_.view(sent, config_.width), [] {});
  rt_.submit(Lane::compute, Copy{dx.rows_at(0, rows.rows()), gradient});
}

void LinkObjective::cross_entropy(std::int64_t links, const Tensor& scores, const Tensor& dscores,
                                  const StepLoss& of) {
  std::vector<Vertex> is_link(at(scores.rows()), 0);
  std::fill(is_link.begin(), is_link.begin() + links, 1);
  const Buffer labels = load_indices(rt_, listed(std::move(is_link)), "links/labels");
  const Buffer targets = load_indices(rt_, listed(first_numbers(scores.rows())), "links/targets");
  rt_.wait(Lane::compute, rt_.record(Lane::copy));
  rt_.submit(Lane::compute, Loss{LossKind::sigmoid,
                                 scores,
                                 labels.tensor(),
                                 targets.tensor(),
                                 dscores,
                                 of.sum,
                                 of.scale,
                                 of.weight,
                                 of.accumulate,
                                 {}});
}

/// d = max(0, margin − s⁺ + s⁻) of every negative, whose slope is ±1 where it is above 0. The loss of
/// a step is summed in f32, those of an epoch in f64.
void LinkObjective::margin_loss(std::int64_t links, int per_link, const Tensor& scores,
                                const Tensor& dscores, const StepLoss& of, bool first) {
  const std::int64_t negatives = links * per_link;
  std::vector<Vertex> link(at(negatives));
  for (std::size_t i = 0; i < link.size(); ++i) link[i] = static_cast<Vertex>(i / at(per_link));
  const Buffer of_link = load_indices(rt_, listed(std::move(link)), "links/link of negatives");
  rt_.wait(Lane::compute, rt_.record(Lane::copy));
  make_fit(rt_, differences_, {negatives, 1}, "links/differences of scores");
  make_fit(rt_, scaled_, {negatives, 1}, "links/scaled differences");
  const Tensor d = differences_.view(negatives, 1), scaled = scaled_.view(negatives, 1);
  const Tensor up = scores.rows_at(0, links), down = scores.rows_at(links, negatives);
  rt_.submit(Lane::compute, GatherRows{up, of_link.tensor(), scaled});
  rt_.submit(Lane::compute, Copy{down, d});
  rt_.submit(Lane::compute, Copy{scaled, d, -1, true});
  rt_.submit(Lane::compute, Activate{d, margin_.tensor(), d, Activation::relu, {}});

  const Tensor sums = step_losses_.tensor(), own = sums.rows_at(of.step, 1);
  if (of.step == 0 && first) rt_.submit(Lane::compute, Fill{sums, 0});
  rt_.submit(Lane::compute, Copy{d, scaled, static_cast<float>(of.scale * of.weight)});
  rt_.submit(Lane::compute, ColumnSum{scaled, own, 1});
  rt_.submit(Lane::compute, ColumnMoments{sums, sums, of.sum, unused_.tensor()});

  const Tensor dup = dscores.rows_at(0, links), ddown = dscores.rows_at(links, negatives);
  rt_.submit(Lane::compute, Fill{ddown, of.scale});
  rt_.submit(Lane::compute, ActivateBackward{ddown, d, ddown, Activation::relu, {}});
  rt_.submit(Lane::compute, Copy{ddown, scaled, -1});
  rt_.submit(Lane::compute, Fill{dup, 0});
  rt_.submit(Lane::compute, ScatterAddRows{scaled, of_link.tensor(), dup});
}

std::optional<HeldOutScores> LinkObjective::score(const Tensor& rows) {
  HeldOutScores scores;
  const LinkTask& task = links_.task();
  if (!validation_) validation_ = links_.rows_of(task.validation);
  if (!test_) test_ = links_.rows_of(task.test);
  bool any = false;
  const auto of = [&](const ScoredLinks& held_out, const LinkBatches::OfRanks& pairs) {
    auto found = held_out.links.empty() ? std::nullopt : score(rows, pairs);
    any = any || found;
    return found;
  };
  scores.validation = of(task.validation, validation_);
  scores.test = of(task.test, test_);
  return any ? std::optional(scores) : std::nullopt;
}

std::optional<LinkScores> LinkObjective::score(const Tensor& rows,
                                               const LinkBatches::OfRanks& of_ranks) {
  const PairRows& pairs = (*of_ranks)[at(rt_.rank())];
  const Tensor x = with_received(pairs, rows);
  // In slabs of links and their negatives.
  Buffer own(rt_, {pairs.pairs(), 1}, DType::f32, "links/held-out scores");
  const std::int64_t each = slab_links(pairs.per_link);
  for (std::int64_t first = 0; first < pairs.links; first += each) {
    const Slab here = slab(pairs, first, std::min(first + each, pairs.links), x.rows());
    const std::int64_t count = here.links * (1 + pairs.per_link);
    decoder_.forward(x, here.ends(), own.tensor().rows_at(first * (1 + pairs.per_link), count));
    rt_.sync(rt_.record(Lane::compute));
  }
  auto counts = std::make_shared<std::vector<std::int64_t>>();
  for (const PairRows& of_rank : *of_ranks) counts->push_back(of_rank.pairs());
  const Buffer all(rt_, {std::accumulate(counts->begin(), counts->end(), std::int64_t{0}), 1},
                   DType::f32, "links/held-out scores of all ranks");
  rt_.wait(Lane::comm, rt_.record(Lane::compute));
  rt_.submit(Lane::comm, AllGather{own.tensor(), all.tensor(), counts, world_group(rt_.size())});
  rt_.wait(Lane::copy, rt_.record(Lane::comm));
  const auto values = std::make_shared<std::vector<float>>();
  rt_.submit(Lane::copy, Save{all.tensor(), values});
  rt_.sync(rt_.record(Lane::copy));
  rt_.wait(Lane::compute, rt_.record(Lane::copy));
  if (values->empty()) return std::nullopt;  // nobody computes

  std::vector<float> links, negatives;
  auto next = values->begin();
  for (const PairRows& of_rank : *of_ranks)
    for (std::int64_t first = 0; first < of_rank.links; first += each) {
      const std::int64_t count = std::min(each, of_rank.links - first);
      links.insert(links.end(), next, next + count);
      next += count;
      negatives.insert(negatives.end(), next, next + count * of_rank.per_link);
      next += count * of_rank.per_link;
    }
  return link_scores(links, negatives, config_.hits);
}

}  // namespace orrery
