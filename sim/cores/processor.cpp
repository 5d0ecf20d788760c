#include "sim/cores/processor.hpp"

#include <algorithm>
#include <limits>

namespace orrery::sim {

Processor::Processor(Interconnect& network, int cores, double slowdown, std::uint64_t timer_token,
                     double turn)
    : network_(network), cores_(cores), slowdown_(slowdown), timer_token_(timer_token) {
  if (cores > 0 && turn > 0) turns_ = std::make_unique<Turns>(cores, turn);
}

void Processor::start(double seconds, int threads, std::uint64_t token, Thread thread) {
  advance();
  if (turns_) {
    turns_->start(network_.now(), seconds, threads, token, thread);
  } else {
    tasks_.push({work_ + seconds, started_++, token, threads});
    threads_ += threads;
  }
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

void Processor::on_timer(std::vector<Done>& done) {
  timer_ = nullptr;
  // The clock is exact to 1e-12 s, and the next task may be due within its error.
  if (turns_) {
    turns_->work(turns_->until_next());
    at_ = network_.now();
    turns_->end(network_.now(), done);
    return schedule();
  }
  work_ = std::max(work_ + (network_.now() - at_) * rate(), tasks_.top().end);
  at_ = network_.now();
  while (!tasks_.empty() && tasks_.top().end <= work_) {
    done.push_back({tasks_.top().token});
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
  const double now = network_.now(), work = (now - at_) * rate();
  if (turns_)
    turns_->work(std::min(work, turns_->until_next()));
  else if (!tasks_.empty())
    work_ += work;
  at_ = now;
}

/// Seconds of work until the timer has to ring; infinity if it has not.
double Processor::remaining() const {
  if (turns_) return turns_->until_next();
  if (tasks_.empty()) return std::numeric_limits<double>::infinity();
  return std::max(0.0, tasks_.top().end - work_);
}

void Processor::schedule() {
  const double left = remaining();
  if (left == std::numeric_limits<double>::infinity()) {
    if (timer_ != nullptr) network_.cancel(timer_);
    timer_ = nullptr;
    return;
  }
  const double end = network_.now() + left / rate();
  timer_ =
      timer_ != nullptr ? network_.move(timer_, end, timer_token_) : network_.at(end, timer_token_);
}

}  // namespace orrery::sim
