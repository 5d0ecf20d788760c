// How fast two ranks of an MPI job exchange messages: rank 0 with the first other rank of its own
// server, and with the first rank of another server. Rank 0 prints one line of JSON:
//
//   {"internal":{"latency_seconds":..,"bytes_per_second":..,"both_bytes_per_second":..,
//                "core_seconds_per_byte":..},
//    "external":{..}}
//
// with null where there is no such pair. Latency is half the median round trip of 8 bytes.
// Bandwidth is the larger of those of 1 MiB and 8 MiB: bytes over half the median round trip. The
// bandwidth in both directions at once is also the larger of those of 1 MiB and 8 MiB: the two
// ranks send to each other, and all bytes are divided by the median time until both messages have
// arrived. What a core at each end works for a byte is what a thread that runs when nothing else wants the
// core does less while 8 MiB go in both directions, again and again; null if both ranks share one core.
//
// Plain MPI without the project's libraries, so it measures only the cluster.
#define OMPI_SKIP_MPICXX
#include <mpi.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr int kSmall = 8, kLarge = 1 << 20, kLarger = 8 << 20;
constexpr int kTag = 1;
/// Seconds of measurement per message size, and bounds on the number of round trips.
constexpr double kBudget = 0.5;
constexpr int kFewest = 3, kMost = 2000;
/// A link on which 1 MiB takes this long (seconds there and back) is not measured with 8 MiB.
constexpr double kSlow = 1.0;
/// Measurements of a core's work.
constexpr int kShares = 3;
/// Between two looks of a rank that sleeps meanwhile.
constexpr auto kNap = std::chrono::microseconds(100);

/// The server of each rank, named by its lowest rank: ranks that share memory are one server.
std::vector<int> servers() {
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm server = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &server);
  int lowest = rank;
  MPI_Bcast(&lowest, 1, MPI_INT, 0, server);
  MPI_Comm_free(&server);
  std::vector<int> all(static_cast<std::size_t>(size));
  MPI_Allgather(&lowest, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
  return all;
}

/// The lowest rank except 0 that is (`same`) or is not on the server of rank 0.
std::optional<int> partner(const std::vector<int>& server, bool same) {
  for (std::size_t r = 1; r < server.size(); ++r)
    if ((server[r] == server[0]) == same) return static_cast<int>(r);
  return std::nullopt;
}

/// How two ranks exchange messages: there and back, both ways at once, or so while both sleep.
enum Way : int { in_turn, at_once, asleep };

/// Rank 0 announces this to its partner: the number and the size of messages each way.
struct Round {
  int bytes = 0, trips = 0;
  Way way = in_turn;
};
constexpr int kRoundInts = 3;

/// The exchange of two ranks: each sends from one buffer while the other is filled.
struct Buffers {
  std::vector<char> out = std::vector<char>(kLarger), in = std::vector<char>(kLarger);
};

/// Sends to rank `other` and receives from it; `first`: sends before it receives.
void exchange(int other, Buffers& buffers, Round round, bool first) {
  const auto send = [&] {
    MPI_Send(buffers.out.data(), round.bytes, MPI_CHAR, other, kTag, MPI_COMM_WORLD);
  };
  if (round.way == asleep) {
    std::array<MPI_Request, 2> both{};
    MPI_Irecv(buffers.in.data(), round.bytes, MPI_CHAR, other, kTag, MPI_COMM_WORLD, &both[0]);
    MPI_Isend(buffers.out.data(), round.bytes, MPI_CHAR, other, kTag, MPI_COMM_WORLD, &both[1]);
    for (int done = 0; done == 0;) {
      std::this_thread::sleep_for(kNap);
      MPI_Testall(2, both.data(), &done, MPI_STATUSES_IGNORE);
    }
    return;
  }
  if (round.way == at_once) {
    MPI_Sendrecv(buffers.out.data(), round.bytes, MPI_CHAR, other, kTag, buffers.in.data(),
                 round.bytes, MPI_CHAR, other, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return;
  }
  if (first) send();
  MPI_Recv(buffers.in.data(), round.bytes, MPI_CHAR, other, kTag, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  if (!first) send();
}

/// Rank 0: the median of `trips` exchanges with rank `other`, in seconds.
double median_of(int other, Buffers& buffers, Round round) {
  MPI_Send(&round, kRoundInts, MPI_INT, other, kTag, MPI_COMM_WORLD);
  std::vector<double> seconds;
  for (int i = 0; i < round.trips; ++i) {
    const double begin = MPI_Wtime();
    exchange(other, buffers, round, true);
    seconds.push_back(MPI_Wtime() - begin);
  }
  const auto middle = seconds.begin() + round.trips / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

/// Rank 0: the median exchange in seconds, from as many as the budget allows. The first exchange
/// opens the connection, the second measures the duration of one.
double exchange_seconds(int other, Buffers& buffers, int bytes, Way way) {
  median_of(other, buffers, {bytes, 1, way});
  const double estimate = median_of(other, buffers, {bytes, 1, way});
  const double trips = std::clamp<double>(kBudget / std::max(estimate, 1e-9), kFewest, kMost);
  return median_of(other, buffers, {bytes, static_cast<int>(trips), way});
}

/// Rank 0: bytes per second that it exchanges with rank `other`, both directions together.
double rate(int other, Buffers& buffers, Way way) {
  double seconds = exchange_seconds(other, buffers, kLarge, way);
  const double rate = 2.0 * kLarge / seconds;
  if (seconds >= kSlow) return rate;
  seconds = exchange_seconds(other, buffers, kLarger, way);
  return std::max(rate, 2.0 * kLarger / seconds);
}

/// Counts on the calling thread's core whenever nothing else wants it.
class LeftOver {
 public:
  LeftOver()
      : thread_([this] {
          const sched_param none{};
          ::pthread_setschedparam(::pthread_self(), SCHED_IDLE, &none);
          while (!done_) count_.store(count_.load() + 1);
        }) {}
  ~LeftOver() {
    done_ = true;
    thread_.join();
  }
  std::int64_t count() const { return count_; }

 private:
  std::atomic<std::int64_t> count_ = 0;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

/// Keeps the calling thread, and those that it starts, on the first or the last of the cores that this
/// process may use.
class OwnCore {
 public:
  explicit OwnCore(bool first) {
    CPU_ZERO(&allowed_);
    if (::sched_getaffinity(0, sizeof allowed_, &allowed_) != 0) return;
    std::vector<int> cores;
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &allowed_)) cores.push_back(core);
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(first ? cores.front() : cores.back(), &own);
    kept_ = cores.size() > 1 && ::sched_setaffinity(0, sizeof own, &own) == 0;
  }
  ~OwnCore() {
    if (kept_) ::sched_setaffinity(0, sizeof allowed_, &allowed_);
  }
  bool kept() const { return kept_; }

 private:
  cpu_set_t allowed_;
  bool kept_ = false;
};

/// Rank 0: seconds that its core works for a byte that it sends to rank `other` or receives from it; the
/// median of several, because others may want the core as well.
double core_seconds(int other, Buffers& buffers) {
  const LeftOver left_over;
  const auto counted_a_second = [&](const auto& act) {
    const double begin = MPI_Wtime();
    const std::int64_t before = left_over.count();
    act();
    return static_cast<double>(left_over.count() - before) / (MPI_Wtime() - begin);
  };
  const auto sleep = [&] {
    for (const double begin = MPI_Wtime(); MPI_Wtime() < begin + kBudget / kShares;) {
      std::this_thread::sleep_for(kNap);
      int is_there = 0;
      MPI_Iprobe(other, kTag, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
    }
  };
  const double trip = median_of(other, buffers, {kLarger, 1, asleep});
  const int trips = std::clamp(static_cast<int>(kBudget / trip), 1, kMost);
  std::vector<double> costs;
  for (int i = 0; i < kShares; ++i) {
    const double alone = counted_a_second(sleep);
    const double begin = MPI_Wtime();
    const double beside = counted_a_second([&] {
      median_of(other, buffers, {kLarger, trips, asleep});
    });
    const double worked = alone > 0 ? std::max(0.0, 1 - beside / alone) : 0;
    costs.push_back(worked * (MPI_Wtime() - begin) / (2.0 * kLarger * trips));
  }
  std::sort(costs.begin(), costs.end());
  return costs[kShares / 2];
}

/// Rank 0: the numbers of its link to rank `other`, as JSON.
std::string measure(int other) {
  Buffers buffers;
  const double latency = exchange_seconds(other, buffers, kSmall, in_turn) / 2;
  const double one_way = rate(other, buffers, in_turn), both = rate(other, buffers, at_once);
  char core[32] = "null";
  if (const OwnCore own(true); own.kept())
    std::snprintf(core, sizeof core, "%.3e", core_seconds(other, buffers));
  const Round end;
  MPI_Send(&end, kRoundInts, MPI_INT, other, kTag, MPI_COMM_WORLD);
  char text[256];
  std::snprintf(text, sizeof text,
                R"({"latency_seconds":%.3e,"bytes_per_second":%.0f,"both_bytes_per_second":%.0f,)"
                R"("core_seconds_per_byte":%s})",
                latency, one_way, both, core);
  return text;
}

/// The partner of `measure`.
void answer() {
  Buffers buffers;
  std::optional<OwnCore> own;
  for (Round round;;) {
    MPI_Recv(&round, kRoundInts, MPI_INT, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (round.trips == 0) return;
    if (round.way == asleep && !own) own.emplace(false);
    for (int i = 0; i < round.trips; ++i) exchange(0, buffers, round, false);
  }
}

/// All ranks wait asleep: MPI's own waiting spins, and would take the cores from the two ranks that
/// measure.
void meet() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::vector<int> server = servers();
  std::string json;
  for (const bool internal : {true, false}) {
    const std::optional<int> other = partner(server, internal);
    json += internal ? R"({"internal":)" : R"(,"external":)";
    if (rank == 0) json += other ? measure(*other) : "null";
    if (rank == other) answer();
    meet();
  }
  if (rank == 0) std::printf("%s}\n", json.c_str());
  MPI_Finalize();
}
