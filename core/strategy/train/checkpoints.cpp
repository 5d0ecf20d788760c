#include "core/strategy/train/checkpoints.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "core/strategy/store/learned_table.hpp"

namespace orrery {

namespace {

/// From other weights, training could only reach a loss that is not finite.
bool is_finite(const Checkpoint& checkpoint) {
  for (const std::vector<float>& row : checkpoint.state)
    if (!std::all_of(row.begin(), row.end(), [](float x) { return std::isfinite(x); }))
      return false;
  return std::all_of(checkpoint.losses.begin(), checkpoint.losses.end(),
                     [](double x) { return std::isfinite(x); });
}

}  // namespace

std::vector<std::size_t> Checkpoints::counts() const {
  std::vector<std::size_t> list;
  for (int rank = 0; rank < rt_.size(); ++rank)
    list.push_back(strategy_.schedule(rank).local->shares.size());
  return list;
}

std::vector<Checkpoints::Place> Checkpoints::places() const {
  std::vector<Place> list;
  for (int rank = 0; rank < rt_.size(); ++rank) {
    const Schedule schedule = strategy_.schedule(rank);
    for (std::size_t model = 0; model < schedule.local->shares.size(); ++model) {
      const TrainStep first = schedule.training->at(0, schedule.local->first_step(model));
      list.push_back({first.structure.number, rank, model});
    }
  }
  std::sort(list.begin(), list.end(),
            [](const Place& a, const Place& b) { return a.structure < b.structure; });
  return list;
}

void Checkpoints::load(const Checkpoint& from, std::size_t first, const std::vector<Tensor>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (from.state[first + i].size() != static_cast<std::size_t>(rows[i].cols()))
      throw ConfigError("", "the checkpoint holds weights of another model");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto values = std::make_shared<const std::vector<float>>(from.state[first + i]);
    rt_.submit(Lane::compute, Load{FloatArray{values}, rows[i]});
  }
}

void Checkpoints::restore(const Checkpoint& from) {
  const std::vector<Tensor> rows = parameters_.state();
  const auto all = local_ != nullptr ? places() : std::vector<Place>(1);
  if (learned_ != nullptr) {
    if (from.state.size() != rows.size() + LearnedTable::kStates)
      throw ConfigError("",
                        "the checkpoint holds no learned features, or weights of another model");
    load(from, 0, rows);
    return learned_->restore(from.state, rows.size());
  }
  const bool one = from.state.size() == rows.size();
  if (!one && from.state.size() != rows.size() * all.size())
    throw ConfigError("",
                      "the checkpoint holds weights of another model, or local models of another "
                      "number of parts");
  if (local_ == nullptr) return load(from, 0, rows);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].rank == rt_.rank())
      load(from, one ? 0 : i * rows.size(), local_->state(all[i].number));
}

void Checkpoints::start(const Checkpoint& from) {
  const std::vector<Tensor> rows = parameters_.model();
  if (from.state.size() < rows.size())
    throw ConfigError("train.weights", "holds weights of another model");
  Checkpoint model;
  model.state.push_back(from.state.front());
  if (rows.size() > 1) model.state.push_back(from.state.back());
  load(model, 0, rows);
  if (local_ == nullptr) return;
  for (std::size_t i = 1; i < local_->count(); ++i) {
    // Local models have no running averages (a batch norm is over the vertices of all ranks).
    load(model, 0, {local_->state(i).front()});
  }
}

std::vector<Tensor> Checkpoints::rows_by_structure(const std::vector<Buffer>& gathered) const {
  const auto of_rank = counts();
  const std::size_t each = parameters_.state().size();
  std::vector<Tensor> rows;
  for (const Place& place : places()) {
    const auto before = std::count_if(of_rank.begin(), of_rank.begin() + place.rank,
                                      [&](std::size_t models) { return models > place.number; });
    for (std::size_t i = 0; i < each; ++i)
      rows.push_back(gathered[place.number * each + i].tensor().rows_at(before, 1));
  }
  return rows;
}

void Checkpoints::keep(Checkpoint checkpoint, RunObserver& observer) {
  std::vector<Buffer> gathered;
  if (local_ != nullptr) gathered = local_->gather(counts());
  if (learned_ != nullptr) gathered = learned_->gather();
  if (rt_.rank() != 0) return;
  std::vector<Tensor> rows = local_ != nullptr ? rows_by_structure(gathered) : parameters_.state();
  if (learned_ != nullptr)
    for (const Buffer& state : gathered) rows.push_back(state.tensor());
  save(std::move(checkpoint), rows, [&observer](const Checkpoint& whole) { observer.keep(whole); });
}

void Checkpoints::keep_best(Checkpoint checkpoint, RunObserver& observer) {
  if (rt_.rank() != 0) return;
  save(std::move(checkpoint), parameters_.model(),
       [&observer](const Checkpoint& whole) { observer.keep_best(whole); });
}

void Checkpoints::save(Checkpoint checkpoint, const std::vector<Tensor>& rows,
                       std::function<void(const Checkpoint&)> keep) {
  finish();
  rt_.wait(Lane::copy, rt_.record(Lane::compute));
  std::vector<std::shared_ptr<std::vector<float>>> saved;
  std::int64_t bytes = 0;
  for (const Tensor& row : rows) {
    saved.push_back(std::make_shared<std::vector<float>>());
    rt_.submit(Lane::copy, Save{row, saved.back()});
    bytes += row.bytes();
  }
  rt_.wait(Lane::compute, rt_.record(Lane::copy));
  rt_.wait(Lane::host, rt_.record(Lane::copy));
  kept_ = rt_.host(Lane::host, [=, keep = std::move(keep), checkpoint = std::move(checkpoint)] {
    Checkpoint whole = checkpoint;
    for (const auto& row : saved) whole.state.push_back(std::move(*row));
    if (is_finite(whole)) keep(whole);
    return HostWork{"checkpoint", 1, bytes, 1};
  });
}

void Checkpoints::finish() {
  if (kept_) rt_.join(*kept_);
  kept_.reset();
}

}  // namespace orrery
