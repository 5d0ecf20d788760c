#include "core/terminal/activity.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "core/terminal/tell.hpp"
#include "core/terminal/terminal.hpp"

namespace orrery {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kTick = std::chrono::milliseconds(500), kRedraw = std::chrono::milliseconds(100);

struct Told {
  int number;
  std::vector<std::string> forms;
  bool timed;  ///< the elapsed time is added
  Clock::time_point begin;
};

/// The one line that shows activities.
class StatusLine {
 public:
  void enable(bool on, std::chrono::milliseconds pause) {
    const std::lock_guard lock(mutex_);
    enabled_ = on;
    pause_ = pause;
    told_ = Clock::now();
    if (on)
      for (const std::string& line : held_back_) print(line);
    held_back_.clear();
    was_asked_ = true;
  }

  int begin(std::string what) {
    const std::lock_guard lock(mutex_);
    if (!enabled_) return 0;
    activities_.push_back({++last_, {std::move(what)}, true, Clock::now()});
    const int number = last_;
    if (activities_.size() > 1) return number;
    try {
      ticker_ = std::jthread([this](const std::stop_token& ended) { tick(ended); });
    } catch (const std::system_error&) {  // no threads left: then only updates are shown
    }
    return number;
  }

  void update(int number, std::vector<std::string> forms, bool timed) {
    const std::lock_guard lock(mutex_);
    const auto activity = std::find_if(activities_.begin(), activities_.end(),
                                       [number](const Told& p) { return p.number == number; });
    if (activity == activities_.end()) return;
    activity->forms = std::move(forms);
    activity->timed = timed;
    if (number == activities_.back().number && Clock::now() - drawn_ >= kRedraw) show();
  }

  void end(int number) {
    std::jthread done;  // stops, and joins when the lock is free again
    const std::lock_guard lock(mutex_);
    std::erase_if(activities_, [number](const Told& p) { return p.number == number; });
    if (!activities_.empty()) return;
    erase();
    done = std::move(ticker_);
  }

  void write(std::string_view text) {
    const std::lock_guard lock(mutex_);
    print(text);
  }

  void note(std::string_view text) {
    const std::lock_guard lock(mutex_);
    const auto [line, is_new] = notes_.insert(fmt::format("note: {}\n", text));
    if (!is_new) return;
    if (!was_asked_)
      held_back_.push_back(*line);
    else if (enabled_)
      print(*line);
  }

  void write_last(std::string_view text) {
    mutex_.lock();  // for good
    erase();
    std::fwrite(text.data(), 1, text.size(), stderr);
  }

 private:
  void tick(const std::stop_token& ended) {
    std::unique_lock lock(mutex_);
    while (!ended.stop_requested()) {
      ticked_.wait_for(lock, ended, kTick, [] { return false; });
      if (!ended.stop_requested()) show();
    }
  }

  void print(std::string_view text) {
    erase();
    std::fwrite(text.data(), 1, text.size(), stderr);
    told_ = Clock::now();
  }

  /// For the innermost activity.
  void show() {
    if (activities_.empty()) return;
    const Told& activity = activities_.back();
    const auto now = Clock::now();
    const std::string taken =
        activity.timed
            ? fmt::format(
                  "  {} s",
                  std::chrono::duration_cast<std::chrono::seconds>(now - activity.begin).count())
            : "";
    if (draws_over(STDERR_FILENO)) return draw(activity.forms, taken);
    if (now - told_ < pause_) return;
    told_ = now;
    const std::string line = activity.forms.front() + taken + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
  }

  void draw(const std::vector<std::string>& forms, const std::string& taken) {
    // The last column stays free: terminals differ in what they do when it is filled.
    const int room = columns_of(STDERR_FILENO) - 1;
    const auto fits = std::find_if(forms.begin(), forms.end(), [&](const std::string& form) {
      return width_of(form) + width_of(taken) <= room;
    });
    std::string line = "\r\033[K";
    line += fits != forms.end() ? *fits + taken : cut_to(forms.back() + taken, room);
    std::fwrite(line.data(), 1, line.size(), stderr);
    drawn_ = Clock::now();
    shown_ = true;
  }

  void erase() {
    if (!shown_) return;
    std::fputs("\r\033[K", stderr);
    shown_ = false;
  }

  std::mutex mutex_;
  std::condition_variable_any ticked_;
  std::chrono::milliseconds pause_{};
  std::vector<Told> activities_;
  int last_ = 0;
  bool enabled_ = false, shown_ = false;
  bool was_asked_ = false;              ///< whether activities are to be told
  std::set<std::string> notes_;         ///< all that were made
  std::vector<std::string> held_back_;  ///< those before anybody was asked
  Clock::time_point drawn_, told_;
  std::jthread ticker_;
};

/// Lives as long as the process: activities of threads that outlive main() also end.
StatusLine& status_line() {
  static StatusLine& line = *new StatusLine;
  return line;
}

}  // namespace

void tell_activities(bool told, std::chrono::milliseconds pause) {
  status_line().enable(told, pause);
}

Activity::Activity(std::string what) : number_(status_line().begin(std::move(what))) {}
Activity::~Activity() {
  if (number_ > 0) status_line().end(number_);
}
void Activity::update(std::vector<std::string> forms, bool timed) {
  if (number_ > 0) status_line().update(number_, std::move(forms), timed);
}

void tell_text(std::string_view text) { status_line().write(text); }
void tell_note(std::string_view text) { status_line().note(text); }
void tell_last(std::string_view text) { status_line().write_last(text); }

}  // namespace orrery
