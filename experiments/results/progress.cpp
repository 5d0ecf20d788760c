#include "experiments/results/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "core/base/units.hpp"
#include "core/terminal/tell.hpp"
#include "core/terminal/terminal.hpp"

namespace orrery {

using Clock = std::chrono::steady_clock;

ProgressBar::ProgressBar(std::string label, int before, int total, bool enabled)
    : label_(std::move(label)),
      before_(before),
      total_(total),
      enabled_(enabled),
      activity_(fmt::format("training {}, {} epochs", label_, total)) {}

void ProgressBar::update(int done, std::optional<double> loss,
                         std::optional<double> validation_accuracy) {
  const int tenth = std::max(1, total_ / 10);
  const bool last = done == total_;
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  std::string text = fmt::format("epoch {}/{}", done, total_);
  if (loss) text += fmt::format("  loss {:.4f}", *loss);
  if (validation_accuracy) text += fmt::format("  validation {:.1f} %", 100 * *validation_accuracy);
  if (!last)
    text += fmt::format("  {} left", human_seconds(elapsed / (done - before_) * (total_ - done)));
  const std::string labelled = fmt::format("{}  {}", label_, text);
  constexpr int kWidth = 24;
  const int filled = static_cast<int>(std::int64_t{kWidth} * done / total_);
  activity_.update({fmt::format("[{:.<{}}] {}", std::string(static_cast<std::size_t>(filled), '#'),
                                kWidth, labelled),
                    labelled, text},
                   false);
  if (enabled_ && !draws_over(STDERR_FILENO) && (done % tenth == 0 || last))
    tell_text(labelled + "\n");
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
