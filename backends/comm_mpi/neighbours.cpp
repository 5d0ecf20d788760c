#include "backends/comm_mpi/neighbours.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string>

namespace orrery::mpi {
namespace {

namespace fs = std::filesystem;

struct Process {
  char state;
  unsigned long long started;
  bool ended() const { return state == 'Z' || state == 'X'; }
};

/// Nothing if there is no such process.
std::optional<Process> process_of(pid_t number) {
  std::ifstream stat(fmt::format("/proc/{}/stat", number));
  std::string text;
  std::getline(stat, text);
  // The command's name, in brackets, may contain blanks: count after it.
  const auto behind = text.rfind(')');
  if (behind == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(behind + 1));
  Process process{};
  fields >> process.state;
  constexpr int kStarted = 22;  // a number, like everything between it and the state
  for (int field = 4; field <= kStarted; ++field) {
    long long number_at = 0;
    fields >> number_at;
    process.started = static_cast<unsigned long long>(number_at);
  }
  return process;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  std::error_code error;
  for (fs::directory_iterator task(fmt::format("/proc/{}/task", parent), error), end;
       !error && task != end; task.increment(error)) {
    std::ifstream list(task->path() / "children");
    children.insert(children.end(), std::istream_iterator<pid_t>(list), {});
  }
  return children;
}

/// The number that a process has in a variable of its environment, or -1.
int number_in_environment(pid_t process, const std::string& variable) {
  std::ifstream file(fmt::format("/proc/{}/environ", process), std::ios::binary);
  const std::string front = variable + "=";
  for (std::string entry; std::getline(file, entry, '\0');)
    if (entry.starts_with(front)) return std::atoi(entry.c_str() + front.size());
  return -1;
}

}  // namespace

void Neighbours::know(const std::vector<int>& ranks, const std::vector<pid_t>& processes) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    // A process that cannot be examined (in its own container) is unknown.
    if (const auto process = process_of(processes[i]); process && !process->ended())
      known_.push_back({ranks[i], processes[i], process->started});
  }
}

std::vector<int> Neighbours::dead() const {
  std::vector<int> ranks;
  for (const Known& one : known_) {
    const auto process = process_of(one.process);
    if (!process || process->ended() || process->started != one.started) ranks.push_back(one.rank);
  }
  return ranks;
}

bool Neighbours::first_living(int rank) const {
  const std::vector<int> gone = dead();
  return std::none_of(known_.begin(), known_.end(), [&](const Known& one) {
    return one.rank < rank && std::find(gone.begin(), gone.end(), one.rank) == gone.end();
  });
}

std::vector<int> lost_at_start(int size) {
  const char* local = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (local == nullptr || std::atoi(local) != size) return {};
  std::set<int> found, running;
  for (const pid_t child : children_of(::getppid())) {
    const auto process = process_of(child);
    if (!process || process->ended()) continue;
    const int rank = number_in_environment(child, "OMPI_COMM_WORLD_RANK");
    found.insert(rank);
    if (process->state != 'T') running.insert(rank);
  }
  // A shell between mpirun and each rank, or a kernel that lists no children: nothing is known.
  const char* own = std::getenv("OMPI_COMM_WORLD_RANK");
  if (own == nullptr || !found.contains(std::atoi(own))) return {};
  std::vector<int> lost;
  for (int rank = 0; rank < size; ++rank)
    if (!running.contains(rank)) lost.push_back(rank);
  return lost;
}

Parent::Parent() {
  std::ifstream file(fmt::format("/proc/{}/comm", ::getppid()));
  std::string name;
  std::getline(file, name);
  if (name.starts_with("mpirun") || name.starts_with("orterun") || name.starts_with("orted"))
    parent_ = ::getppid();
}

bool Parent::gone() const { return parent_ != -1 && ::getppid() != parent_; }

}  // namespace orrery::mpi
