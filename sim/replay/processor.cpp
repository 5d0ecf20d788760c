#include "sim/replay/processor.hpp"

#include <algorithm>

namespace orrery::sim {

void Processor::start(double seconds, int threads, std::uint64_t token) {
  advance();
  tasks_.push({work_ + seconds, started_++, token, threads});
  threads_ += threads;
  schedule();
}

void Processor::communicates(int change) {
  const int before = messages_;
  if ((before > 0) == (before + change > 0) || slowdown_ == 1) {
    messages_ += change;
    return;
  }
  advance();
  messages_ += change;
  schedule();
}

void Processor::on_timer(std::vector<std::uint64_t>& done) {
  timer_ = nullptr;
  // The clock is exact to 1e-12 s, and the next task may be due within its error.
  work_ = std::max(work_ + (network_.now() - at_) * rate(), tasks_.top().end);
  at_ = network_.now();
  while (!tasks_.empty() && tasks_.top().end <= work_) {
    done.push_back(tasks_.top().token);
    threads_ -= tasks_.top().threads;
    tasks_.pop();
  }
  schedule();
}

double Processor::rate() const {
  double rate = 1;
  if (cores_ > 0 && threads_ > cores_) rate = static_cast<double>(cores_) / threads_;
  return messages_ > 0 ? rate / slowdown_ : rate;
}

void Processor::advance() {
  const double now = network_.now();
  if (!tasks_.empty()) work_ += (now - at_) * rate();
  at_ = now;
}

void Processor::schedule() {
  if (tasks_.empty()) {
    if (timer_ != nullptr) network_.cancel(timer_);
    timer_ = nullptr;
    return;
  }
  const double remaining = std::max(0.0, tasks_.top().end - work_);
  const double end = network_.now() + remaining / rate();
  timer_ =
      timer_ != nullptr ? network_.move(timer_, end, timer_token_) : network_.at(end, timer_token_);
}

}  // namespace orrery::sim
