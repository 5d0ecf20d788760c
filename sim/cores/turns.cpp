#include "sim/cores/turns.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace orrery::sim {
namespace {

constexpr double kDueWithin = 1e-12;  // seconds, of the network's clock

}  // namespace

void Turns::start(double now, double seconds, int threads, std::uint64_t token, Thread thread) {
  Task task{seconds, turn_, token, threads, 0, thread, -1, -1};
  bool continues = false;
  if (ended_at_ == now && thread.id >= 0)
    for (const Ended& ended : ended_)
      if (ended.thread == thread.id) {
        continues = true;
        task.turn_left = ended.turn_left;
      }
  wanted_ += threads;
  if (!all_work())  // turns that nobody waited for went on and on
    for (Task& other : tasks_)
      if (other.turn_left < 0) other.turn_left = turn_ - std::fmod(-other.turn_left, turn_);
  tasks_.insert(place_of(task, now, continues), task);
  give_out_cores(now);
  if (thread.brief) send_losers_to_the_end();
}

/// Who comes before others: brief threads; then those who work, among them one that continues; then those
/// who wait. Whoever got a core only because that one paused for no time has not worked.
std::vector<Turns::Task>::iterator Turns::place_of(const Task& task, double now, bool continues) {
  if (!task.thread.brief && !continues) return tasks_.end();
  return std::find_if(tasks_.begin(), tasks_.end(), [&](const Task& other) {
    if (other.thread.brief) return false;
    return task.thread.brief || !other.works() || other.since == now;
  });
}

void Turns::give_out_cores(double now) {
  int free = cores_;
  for (Task& task : tasks_) {
    const bool worked = task.works();
    task.held = std::min(task.threads, free);
    free -= task.held;
    if (!worked && task.works()) {
      task.since = now;
      if (task.began < 0) task.began = now;
    } else if (worked && !task.works() && task.began == now) {
      task.began = -1;  // for no time
    }
  }
}

void Turns::send_losers_to_the_end() {
  const auto lost = [&](const Task& task) {
    return !task.works() && task.began >= 0 && task.since >= 0 && !task.thread.brief;
  };
  for (Task& task : tasks_)
    if (lost(task)) task.turn_left = turn_;
  const auto losers =
      std::stable_partition(tasks_.begin(), tasks_.end(), [&](const Task& t) { return !lost(t); });
  for (auto task = losers; task != tasks_.end(); ++task) task->since = -1;
}

void Turns::work(double seconds) {
  for (Task& task : tasks_) {
    if (!task.works()) continue;
    task.left -= seconds * task.held / task.threads;
    task.turn_left -= seconds;
  }
}

double Turns::until_next() const {
  double next = std::numeric_limits<double>::infinity();
  for (const Task& task : tasks_) {
    if (!task.works()) continue;
    next = std::min(next, task.left * task.threads / task.held);
    if (!all_work() && !task.thread.brief) next = std::min(next, task.turn_left);
  }
  return std::max(0.0, next);
}

void Turns::end(double now, std::vector<Done>& done) {
  if (ended_at_ != now) ended_.clear();
  ended_at_ = now;
  const bool others_wait = !all_work();
  std::vector<Task> keep, over;
  for (Task& task : tasks_) {
    if (task.works() && task.left <= kDueWithin) {
      done.push_back({task.token, task.began});
      ended_.push_back({task.thread.id, task.turn_left});
      wanted_ -= task.threads;
    } else if (others_wait && task.works() && !task.thread.brief && task.turn_left <= kDueWithin) {
      task.turn_left = turn_;
      over.push_back(task);
    } else {
      keep.push_back(task);
    }
  }
  keep.insert(keep.end(), over.begin(), over.end());
  tasks_ = std::move(keep);
  give_out_cores(now);
}

}  // namespace orrery::sim
