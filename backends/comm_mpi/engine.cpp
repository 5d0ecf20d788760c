#include "backends/comm_mpi/engine.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "core/base/error.hpp"
#include "core/base/tell.hpp"

namespace orrery::mpi {
namespace {

constexpr int kKinds = 64;  // of calls, see tag_of()

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

/// Leaves the process when MPI_Init or MPI_Finalize hangs because another rank was lost then.
class Deadline {
 public:
  /// `what` did not happen when this speaks.
  Deadline(std::string what, double seconds)
      : thread_([this, what = std::move(what), seconds] {
          std::unique_lock lock(mutex_);
          const std::chrono::duration<double> limit(seconds);
          if (met_.wait_for(lock, limit, [this] { return done_; })) return;
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
  std::mutex mutex_;
  std::condition_variable met_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace

std::mutex& library_lock() {
  static std::mutex lock;
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
                          3 * options_.silence_seconds);
  const std::lock_guard lock(library_lock());
  initialise();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
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

void Engine::find_servers() {
  MPI_Comm server = MPI_COMM_NULL;
  require_success(
      MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &server),
      "MPI_Comm_split_type");
  int lowest = rank_;
  MPI_Allreduce(&rank_, &lowest, 1, MPI_INT, MPI_MIN, server);
  MPI_Comm_free(&server);
  std::vector<int> server_of(static_cast<std::size_t>(size_));
  MPI_Allgather(&lowest, 1, MPI_INT, server_of.data(), 1, MPI_INT, MPI_COMM_WORLD);
  placement_ = Placement(server_of);
}

int Engine::tag_of(int kind, std::uint64_t call) const {
  const auto mixed = (call * 0x9E3779B97F4A7C15U) >> 32;
  return kind + kKinds * static_cast<int>(mixed % static_cast<std::uint64_t>(tag_space_));
}

int Engine::answer_tag(int kind, Lane lane) { return kind + kKinds * static_cast<int>(lane); }

int Engine::kind_of_tag(int tag) { return tag % kKinds; }

void Engine::freeze(std::string_view why) noexcept {
  const std::lock_guard lock(library_lock());
  if (frozen_) return;
  frozen_ = true;
  why_ = why;
}

void Engine::require_alive() const {
  if (frozen_) throw Aborted(why_);
}

bool Engine::frozen() const {
  const std::lock_guard lock(library_lock());
  return frozen_;
}

void Engine::report(std::string_view what) const noexcept {
  if (!options_.may_report || options_.may_report())
    tell("orrery: error: rank {}: {}\n", rank_, what);
}

void Engine::fail(std::string_view what, int status) noexcept {
  freeze(what);
  report(what);
  end(status);
}

void Engine::end(int status) noexcept {
  std::fflush(nullptr);
  // The lock is for good manners only: whoever holds it for long hangs inside the library.
  std::unique_lock lock(library_lock(), std::defer_lock);
  for (int i = 0; i < 100 && !lock.try_lock(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(1);
}

}  // namespace orrery::mpi
