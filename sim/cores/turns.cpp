#include "sim/cores/turns.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace orrery::sim {
namespace {

constexpr double kDueWithin = 1e-12;  // seconds, of the network's clock

}  // namespace

void Turns::start(double now, double seconds, int threads, std::uint64_t token, Thread thread) {
  Task task{
      .left = seconds, .turn_left = turn_, .token = token, .threads = threads, .thread = thread};
  bool continues = false;
  if (ended_at_ == now && thread.id >= 0)
    for (const Ended& ended : ended_)
      if (ended.thread == thread.id) {
        continues = true;
        task.turn_left = ended.turn_left;
      }
  wanted_ += threads;
  if (!all_work()) {  // turns that nobody waited for went on and on
    const auto within = [&](double left) {
      return left < 0 ? turn_ - std::fmod(-left, turn_) : left;
    };
    task.turn_left = within(task.turn_left);
    for (Task& other : tasks_) other.turn_left = within(other.turn_left);
  }
  tasks_.insert(place_of(task, now, continues), task);
  give_out_cores(now);
  if (thread.brief) send_losers_to_the_end();
}

/// Brief threads come before others. Whoever continues comes where it was: before those who got cores only
/// because it paused for no time, and those who wait.
std::vector<Turns::Task>::iterator Turns::place_of(const Task& task, double now, bool continues) {
  if (!task.thread.brief && !continues) return tasks_.end();
  return std::find_if(tasks_.begin(), tasks_.end(), [&](const Task& other) {
    const bool has_worked = other.works() && other.since < now;
    if (task.thread.brief) return !other.thread.brief || (continues && !has_worked);
    return !other.thread.brief && !has_worked;
  });
}

void Turns::give_out_cores(double now) {
  int free = cores_;
  for (Task& task : tasks_) {
    const int before = task.held;
    task.held = std::min(task.threads, free);
    free -= task.held;
    task.lost = !task.thread.brief && before > 0 && !task.works() && task.since < now;
    if (task.held > before) task.since = now;
    if (task.works() && task.began < 0) task.began = now;
    if (before > 0 && !task.works() && task.began == now) task.began = -1;  // for no time
  }
}

void Turns::send_losers_to_the_end() {
  for (Task& task : tasks_)
    if (task.lost) task.turn_left = turn_;
  std::stable_partition(tasks_.begin(), tasks_.end(), [](const Task& task) { return !task.lost; });
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
