// Fuzzes one reader for some seconds with any compiler. Coverage does not lead it: tests/fuzz/long_run
// does that, with libFuzzer, and what it finds is kept in tests/fuzz/corpus.
//
//   fuzz TARGET [--seconds S] [--seed N] [FILE...]   reads the files instead, if there are any
//   fuzz --list                                      names of the targets
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tests/fuzz/corpus.hpp"
#include "tests/fuzz/folder_input.hpp"
#include "tests/fuzz/judge.hpp"
#include "tests/fuzz/mutate.hpp"

extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*)());

namespace orrery::fuzz {
namespace {

constexpr std::size_t kMostBytes = 1 << 14;
constexpr std::size_t kMostKept = 1000;

std::string now;        // the input that is being read
std::string kept_file;  // where it goes if it ends the process

void keep_input() {
  const int file = ::open(kept_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return;
  [[maybe_unused]] const auto written = ::write(file, now.data(), now.size());
  ::close(file);
  constexpr const char* kWord = "the input that ended this is kept in ";
  std::fprintf(stderr, "%s%s\n", kWord, kept_file.c_str());
}

void on_signal(int signal) {
  std::fprintf(stderr, "%s\n",
               signal == SIGALRM ? "took more than 10 seconds" : "ended by a signal");
  keep_input();
  ::_exit(1);
}

void require_none(const std::string& fault) {
  if (fault.empty()) return;
  std::fprintf(stderr, "%s\n", fault.c_str());
  keep_input();
  ::_exit(1);
}

struct Settings {
  std::string target;
  double seconds = 5;
  std::uint64_t seed = 1;
  std::vector<std::string> files;
};

Settings settings_of(int count, char** words) {
  Settings s;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto value = [&] {
      if (i + 1 >= count) throw std::runtime_error(word + " needs a number");
      return std::string(words[++i]);
    };
    if (word == "--seconds")
      s.seconds = std::stod(value());
    else if (word == "--seed")
      s.seed = std::stoull(value());
    else if (s.target.empty())
      s.target = word;
    else
      s.files.push_back(word);
  }
  if (s.target.empty())
    throw std::runtime_error("usage: fuzz TARGET [--seconds S] [--seed N] [FILE...] | fuzz --list");
  return s;
}

void fuzz(const Settings& s) {
  const Target& target = fuzz::target(s.target);
  if (!s.files.empty()) {
    for (const std::string& file : s.files) {
      std::ifstream in(file, std::ios::binary);
      now.assign(std::istreambuf_iterator<char>(in), {});
      require_none(judge(target, now));
    }
    return;
  }
  std::vector<std::string> inputs = target.seeds();
  for (std::string& input : kept_inputs(s.target)) inputs.push_back(std::move(input));
  const std::size_t firm = inputs.size();
  Dice dice(s.seed);
  std::int64_t runs = 0;
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  for (; seconds() < s.seconds; ++runs) {
    now = inputs[dice() % inputs.size()];
    mutate(now, dice, target.words, inputs, kMostBytes);
    require_none(judge(target, now));
    // Some changed inputs are changed again: faults that only several changes reach.
    if (dice() % 16 != 0) continue;
    if (inputs.size() < firm + kMostKept)
      inputs.push_back(now);
    else
      inputs[firm + dice() % kMostKept] = now;
  }
  std::printf("%s: %lld inputs in %.0f s, no fault (seed %llu)\n", s.target.c_str(),
              static_cast<long long>(runs), seconds(), static_cast<unsigned long long>(s.seed));
}

}  // namespace
}  // namespace orrery::fuzz

int main(int count, char** words) {
  using namespace orrery::fuzz;
  try {
    if (count == 2 && std::string(words[1]) == "--list") {
      for (const Target& target : targets()) std::printf("%s\n", target.name.c_str());
      return 0;
    }
    const Settings settings = settings_of(count, words);
    kept_file = "fault-" + settings.target + "-" + std::to_string(settings.seed);
    for (const int signal : {SIGALRM, SIGABRT}) std::signal(signal, on_signal);
    if (__sanitizer_set_death_callback != nullptr)
      __sanitizer_set_death_callback(keep_input);
    else
      std::signal(SIGSEGV, on_signal);
    fuzz(settings);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fuzz: %s\n", error.what());
    return 2;
  }
}
