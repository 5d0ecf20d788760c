#include "experiments/results/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "core/base/tell.hpp"
#include "core/base/units.hpp"

namespace orrery {

using Clock = std::chrono::steady_clock;

namespace {

const char* term() {
  const char* name = std::getenv("TERM");
  return name == nullptr ? "dumb" : name;
}

}  // namespace

ProgressBar::ProgressBar(std::string label, int total, bool enabled)
    : label_(std::move(label)),
      total_(total),
      enabled_(enabled),
      terminal_(isatty(STDERR_FILENO) == 1 && std::string(term()) != "dumb") {}

ProgressBar::~ProgressBar() {
  if (enabled_ && terminal_) tell("\r\033[K");
}

void ProgressBar::update(int done, std::optional<double> loss,
                         std::optional<double> validation_accuracy) {
  if (!enabled_) return;
  const int tenth = std::max(1, total_ / 10);
  const auto now = Clock::now();
  const bool last = done == total_;
  if (terminal_ ? !last && now - drawn_ < std::chrono::milliseconds(100)
                : done % tenth != 0 && !last)
    return;
  drawn_ = now;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  std::string text = fmt::format("{}  epoch {}/{}", label_, done, total_);
  if (loss) text += fmt::format("  loss {:.4f}", *loss);
  if (validation_accuracy) text += fmt::format("  validation {:.1f} %", 100 * *validation_accuracy);
  if (!last) text += fmt::format("  {} left", human_seconds(elapsed / done * (total_ - done)));
  if (!terminal_) {
    tell("{}\n", text);
    return;
  }
  constexpr int kWidth = 24;
  const int filled = kWidth * done / total_;
  tell("\r\033[K[{}{}] {}", std::string(static_cast<std::size_t>(filled), '#'),
       std::string(static_cast<std::size_t>(kWidth - filled), '.'), text);
  std::fflush(stderr);
}

SweepProgress::SweepProgress(const std::vector<bool>& done, bool enabled)
    : total_(done.size()),
      before_(static_cast<std::size_t>(std::count(done.begin(), done.end(), true))),
      enabled_(enabled) {}

void SweepProgress::finished(const std::string& label) {
  ++now_;
  if (!enabled_) return;
  const std::size_t left = total_ - before_ - now_;
  const double each =
      std::chrono::duration<double>(Clock::now() - start_).count() / static_cast<double>(now_);
  tell("[{}/{}] {}{}\n", before_ + now_, total_, label,
       left == 0 ? "" : fmt::format("  {} left", human_seconds(each * static_cast<double>(left))));
}

}  // namespace orrery
