#include "core/strategy/train/prefetch.hpp"

namespace orrery {

Prefetch::Prefetch(Runtime& rt, const Strategy& strategy, RankSession& session,
                   const Problem& problem, const Schedule& schedule, int first, int last,
                   int first_step)
    : rt_(rt),
      strategy_(strategy),
      session_(session),
      model_(problem.model),
      facts_(problem.facts()),
      steps_(schedule.training),
      ahead_(at(schedule.ahead)),
      epoch_(first),
      index_(first_step),
      last_(last) {
  prepare();
  load_next();
}

StepData& Prefetch::turn() {
  ORRERY_ASSERT(next_ != nullptr && "more steps than the schedule has");
  rt_.wait(Lane::compute, rt_.record(Lane::copy));
  rt_.sync(rt_.record(Lane::compute));  // else the device would hold three for a while
  current_ = std::move(next_);
  return *current_;
}

void Prefetch::prepare() {
  while (prepared_.size() < ahead_) {
    const auto id = upcoming();
    if (!id) return;
    auto made = std::make_shared<std::shared_ptr<const Structure>>();
    const Task task = rt_.host(Lane::sampler, [made, id, &strategy = strategy_, rank = rt_.rank()] {
      *made = strategy.prepare(rank, *id);
      return (*made)->work;
    });
    prepared_.push_back({task, std::move(made)});
  }
}

void Prefetch::load_next() {
  if (prepared_.empty()) return;
  const Prepared next = std::move(prepared_.front());
  prepared_.pop_front();
  rt_.join(next.task);
  next_ =
      std::make_unique<StepData>(rt_, session_.load(std::move(*next.structure)), model_, facts_);
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
