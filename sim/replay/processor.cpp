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
  advance();
  const bool before = messages_ > 0;
  messages_ += change;
  if (before != (messages_ > 0) && slowdown_ != 1) schedule();
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
  work_ += (now - at_) * rate();
  at_ = now;
}

void Processor::schedule() {
  if (timer_ != nullptr) network_.cancel(timer_);
  timer_ = nullptr;
  if (tasks_.empty()) return;
  const double remaining = std::max(0.0, tasks_.top().end - work_);
  timer_ = network_.at(network_.now() + remaining / rate(), timer_token_);
}

}  // namespace orrery::sim
