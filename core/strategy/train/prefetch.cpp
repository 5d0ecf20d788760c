#include "core/strategy/train/prefetch.hpp"

#include <algorithm>
#include <utility>

namespace orrery {

Prefetch::Prefetch(LoadingRuntime& rt, const Strategy& strategy, RankSession& session,
                   const Problem& problem, const Schedule& schedule, int first, int last,
                   int first_step)
    : rt_(rt),
      strategy_(strategy),
      session_(session),
      model_(problem.model),
      labelled_(problem.links == nullptr),
      facts_(problem.facts()),
      class_weights_(class_weights(problem)),
      steps_(schedule.training),
      ahead_(*schedule.ahead),
      epoch_(first),
      index_(first_step),
      last_(last) {
  prepare();
  advance();
}

StepData& Prefetch::turn() {
  if (loaded_
          // nothing is loaded ahead: the last structure is freed before this one is loaded
          .empty()) {
    rt_.sync(rt_.record(Lane::compute));
    current_.reset();
    const bool more = load_one();
    ORRERY_ASSERT(more && "more steps than the schedule has");
  }
  rt_.wait(Lane::compute, loaded_.front().there);
  rt_.sync(rt_.record(Lane::compute));  // otherwise the device would hold one more for a while
  current_ = std::move(loaded_.front().data);
  loaded_.pop_front();
  return *current_;
}

void Prefetch::prepare() {
  while (std::ssize(prepared_) < ahead_.sample && prepare_one()) continue;
}

bool Prefetch::prepare_one() {
  const auto id = upcoming();
  if (!id) return false;
  auto made = std::make_shared<std::shared_ptr<const Structure>>();
  const Task task = rt_.host(Lane::sampler, [made, id, &strategy = strategy_, rank = rt_.rank()] {
    *made = strategy.prepare(rank, *id);
    return (*made)->work;
  });
  prepared_.push_back({task, std::move(made)});
  return true;
}

void Prefetch::advance() {
  while (std::ssize(loaded_) < ahead_.load && load_one()) continue;
  while (std::ssize(fetched_) < ahead_.fetch && fetch_one()) continue;
}

/// The next prepared structure, for which the host waits; null after the last.
std::shared_ptr<const Structure> Prefetch::take_prepared() {
  if (prepared_.empty()) prepare();
  if (prepared_.empty() && !prepare_one()) return nullptr;
  const Prepared next = std::move(prepared_.front());
  prepared_.pop_front();
  rt_.join(next.task);
  return std::move(*next.structure);
}

bool Prefetch::fetch_one() {
  auto structure = take_prepared();
  if (!structure) return false;
  session_.fetch(structure);
  fetched_.push_back(std::move(structure));
  return true;
}

bool Prefetch::load_one() {
  std::shared_ptr<const Structure> structure;
  if (ahead_.fetch > 0) {
    if (fetched_.empty() && !fetch_one()) return false;
    structure = std::move(fetched_.front());
    fetched_.pop_front();
  } else if (structure = take_prepared(); !structure) {
    return false;
  }
  // Several may be on their way: a step waits only for its own.
  const auto loading = rt_.compute_goes_on(ahead_.load > 1);
  auto data = std::make_unique<StepData>(rt_, session_.load(std::move(structure)), model_, facts_,
                                         labelled_, class_weights_);
  loaded_.push_back({std::move(data), rt_.record(Lane::copy)});
  return true;
}

void Prefetch::stop() {
  for (const Prepared& prepared : prepared_) rt_.join(prepared.task);
  prepared_.clear();
}

std::optional<StructureId> Prefetch::upcoming() {
  for (; epoch_ < last_; ++epoch_, index_ = 0)
    if (index_ < steps_->count(epoch_)) return steps_->at(epoch_, index_++).structure;
  return std::nullopt;
}

}  // namespace orrery
