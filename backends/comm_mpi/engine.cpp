#include "backends/comm_mpi/engine.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <system_error>
#include <thread>

#include "backends/comm_mpi/batch.hpp"
#include "core/base/dead_segments.hpp"
#include "core/base/error.hpp"
#include "core/terminal/tell.hpp"

namespace orrery::mpi {
namespace {

constexpr int kKinds = 64;  // of calls, see tag_of()
constexpr auto kLongestAbort = std::chrono::seconds(2);

void initialise() {
  int already = 0;
  MPI_Initialized(&already);
  if (already != 0) throw Error("MPI is in use already; a process can have one MpiWorld");
  int provided = MPI_THREAD_SINGLE;
  require_success(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided),
                  "MPI_Init_thread");
  if (provided < MPI_THREAD_SERIALIZED)
    throw Error("this MPI library cannot be used by several threads; use OpenMPI 4");
}

MPI_Comm duplicate_of_world() {
  MPI_Comm copy = MPI_COMM_NULL;
  require_success(MPI_Comm_dup(MPI_COMM_WORLD, &copy), "MPI_Comm_dup");
  MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
  return copy;
}

/// Ends the process if MPI_Init or MPI_Finalize hangs because another rank was lost.
class Deadline {
 public:
  /// `what`: the step that did not happen, for the message. `look` is called repeatedly meanwhile.
  Deadline(
      std::string what, double seconds, std::function<void()> look = [] {})
      : thread_([this, what = std::move(what), seconds, look = std::move(look)] {
          std::unique_lock lock(mutex_);
          const std::chrono::duration<double> limit(seconds);
          for (const auto begin = Clock::now(); Clock::now() - begin < limit; look())
            if (met_.wait_for(lock, kLook, [this] { return done_; })) return;
          tell("orrery: error: {} within {} s\n", what, seconds);
          std::_Exit(1);
        }) {}
  ~Deadline() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    met_.notify_all();
    thread_.join();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kLook = std::chrono::milliseconds(5);  // little time is left without mpirun
  std::mutex mutex_;
  std::condition_variable met_;
  bool done_ = false;
  std::thread thread_;
};

/// What is visible of the other ranks while MPI starts, which waits for all of them.
class StartWatch {
 public:
  explicit StartWatch(const MpiOptions& options) : options_(options) {
    const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
    const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
    if (rank != nullptr && size != nullptr) rank_ = std::atoi(rank), size_ = std::atoi(size);
  }

  /// Ends the process if the start can no longer succeed. mpirun asks all to end when one dies, but
  /// nobody else would notice a rank that is stopped, or one that dies while mpirun is stopped. The
  /// library ends a process whose mpirun is gone without a word, mostly after a second.
  void look() {
    if (size_ == 0) return;  // something other than mpirun of Open MPI has started the ranks
    const bool ending = options_.ending != nullptr && *options_.ending;
    if (ending) {
      const std::vector<int> dead = lost_at_start(size_);
      leave(dead.empty() ? "the job was ended from outside" : ranks_text(dead) + " died", dead);
    }
    if (parent_.gone()) leave("mpirun, which started this job, has died");
    const auto now = Clock::now();
    if (now - looked_ < std::chrono::seconds(1)) return;
    looked_ = now;
    const std::vector<int> lost = lost_at_start(size_);
    if (lost.empty()) return since_.reset();
    if (!since_) since_ = now;
    if (std::chrono::duration<double>(now - *since_).count() > options_.silence_seconds - 1)
      leave(ranks_text(lost) + " died or was stopped", lost);
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// `ranks`: those that were lost.
  [[noreturn]] void leave(const std::string& why, std::vector<int> ranks = {}) const {
    JobFailure failure;
    failure.told_by = rank_;
    failure.operation = "MPI_Init";
    failure.message = why + " while the ranks were starting MPI";
    if (!ranks.empty()) failure.rank = ranks.front();
    int lowest = 0;  // that may report
    for (const int rank : ranks)
      if (rank == lowest) ++lowest;
    failure.first_living = rank_ == lowest;
    failure.awaited = std::move(ranks);
    if (!options_.may_report || options_.may_report(failure))
      tell("orrery: error: rank {}: {}\n", failure.told_by, failure.message);
    std::_Exit(1);
  }

  const MpiOptions& options_;
  Parent parent_;
  int rank_ = 0, size_ = 0;
  Clock::time_point looked_{};
  std::optional<Clock::time_point> since_;
};

}  // namespace

std::mutex& library_lock() {
  static std::mutex lock;
  return lock;
}

std::unique_lock<std::mutex> try_library_lock() {
  std::unique_lock lock(library_lock(), std::defer_lock);
  for (int i = 0; i < 10 && !lock.try_lock(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return lock;
}

void require_success(int code, std::string_view call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw Error(fmt::format("{} failed: {}", call,
                          std::string_view(text.data(), static_cast<std::size_t>(length))));
}

Engine::Engine(MpiOptions options) : options_(std::move(options)) {
  const Deadline deadline("this rank waits for others that did not start MPI",
                          3 * options_.silence_seconds,
                          [watch = StartWatch(options_)]() mutable { watch.look(); });
  const std::lock_guard lock(library_lock());
  initialise();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  require_all_processes();
  for (MPI_Comm& lane : lanes_) lane = duplicate_of_world();
  host_ = duplicate_of_world();
  control_ = duplicate_of_world();
  rows_ = duplicate_of_world();
  void* largest = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&largest), &found);
  tag_space_ = (found != 0 ? *static_cast<int*>(largest) : 32767) / kKinds;
  find_servers();
}

Engine::~Engine() {
  const Deadline deadline(fmt::format("rank {}: the other ranks did not leave MPI", rank_),
                          3 * options_.silence_seconds);  // many ranks may share a core
  const std::lock_guard lock(library_lock());
  for (MPI_Comm& lane : lanes_) MPI_Comm_free(&lane);
  MPI_Comm_free(&host_);
  MPI_Comm_free(&control_);
  MPI_Comm_free(&rows_);
  MPI_Finalize();
}

void Engine::require_all_processes() const {
  if (options_.processes == 0 || options_.processes == size_) return;
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string_view library(text.data(), static_cast<std::size_t>(length));
  MPI_Finalize();
  throw Error(fmt::format(
      "{} processes were started, but MPI sees {}: what started them belongs to another MPI "
      "library. This program uses {}; start it with that library's mpirun, or with srun "
      "--mpi=pmix",
      options_.processes, size_, library.substr(0, library.find_first_of(",\n"))));
}

void Engine::find_servers() {
  MPI_Comm server = MPI_COMM_NULL;
  require_success(
      MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &server),
      "MPI_Comm_split_type");
  int lowest = rank_, here = 0;
  MPI_Allreduce(&rank_, &lowest, 1, MPI_INT, MPI_MIN, server);
  MPI_Comm_size(server, &here);
  std::vector<int> ranks(at(here)), processes(at(here));
  const int process = ::getpid();
  MPI_Allgather(&rank_, 1, MPI_INT, ranks.data(), 1, MPI_INT, server);
  MPI_Allgather(&process, 1, MPI_INT, processes.data(), 1, MPI_INT, server);
  neighbours_.know(ranks, processes);
  MPI_Comm_free(&server);
  std::vector<int> server_of(static_cast<std::size_t>(size_));
  MPI_Allgather(&lowest, 1, MPI_INT, server_of.data(), 1, MPI_INT, MPI_COMM_WORLD);
  placement_ = Placement(server_of);
  if (rank_ == lowest) remove_dead_segments("/dev/shm", "vader_segment.");  // of Open MPI
}

int Engine::tag_of(int kind, std::uint64_t call) const {
  const auto mixed = (call * 0x9E3779B97F4A7C15U) >> 32;
  return kind + kKinds * static_cast<int>(mixed % static_cast<std::uint64_t>(tag_space_));
}

int Engine::answer_tag(int kind, Lane lane) { return kind + kKinds * static_cast<int>(lane); }

int Engine::kind_of_tag(int tag) { return tag % kKinds; }

void Engine::freeze(std::string_view why) noexcept {
  const auto lock = try_library_lock();
  if (frozen_.exchange(true)) return;
  if (lock.owns_lock()) why_ = why;  // otherwise its holder may never return to read it
}

void Engine::require_alive() const {
  if (frozen_) throw Aborted(why_);
}

bool Engine::frozen() const { return frozen_; }

bool Engine::claim(std::string_view what, std::optional<int> failed) const noexcept {
  if (!options_.may_report) return true;
  JobFailure failure;
  failure.rank = failed;
  failure.told_by = rank_;
  failure.message = what;
  failure.first_living = neighbours_.first_living(rank_);
  // Without the lock the operation is unknown.
  if (const auto lock = try_library_lock(); lock.owns_lock() && !batches_.empty()) {
    failure.operation = to_string(batches_.front()->title());
    failure.awaited = batches_.front()->awaited();
  }
  return options_.may_report(failure);
}

void Engine::report(std::string_view what, std::optional<int> failed) const noexcept {
  if (claim(what, failed)) tell("orrery: error: rank {}: {}\n", rank_, what);
  reported_ = true;
}

void Engine::fail(std::string_view what, int status, std::optional<int> failed) noexcept {
  freeze(what);
  report(what, failed);
  end(status);
}

void Engine::end(int status) noexcept {
  // A thread that was woken by the failure of another thread of this rank lets that one report
  // first.
  for (int i = 0; i < 100 && !reported_; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::fflush(nullptr);
  // An mpirun that is stopped or gone does not answer MPI_Abort, and a lock that is held for long
  // is held by a thread that hangs inside the library.
  try {
    std::thread([status] {
      std::this_thread::sleep_for(kLongestAbort);
      std::_Exit(status);
    }).detach();
  } catch (const std::system_error&) {
    // No thread is available: MPI_Abort takes as long as it takes.
  }
  std::unique_lock lock(library_lock(), std::defer_lock);
  for (int i = 0; i < 100 && !lock.try_lock(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(1);
}

}  // namespace orrery::mpi
