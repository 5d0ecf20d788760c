// How fast two ranks of an MPI job exchange messages: rank 0 with the first other rank of its own
// server, and with the first rank of another server. Rank 0 prints one line of JSON:
//
//   {"internal":{"latency_seconds":..,"bytes_per_second":..,"both_bytes_per_second":..},
//    "external":{..}}
//
// with null where there is no such pair. Latency is half the median round trip of 8 bytes.
// Bandwidth is the larger of those of 1 MiB and 8 MiB: bytes over half the median round trip. The
// bandwidth in both directions at once is also the larger of those of 1 MiB and 8 MiB: the two
// ranks send to each other, and all bytes are divided by the median time until both messages have
// arrived.
//
// Plain MPI without the project's libraries, so it measures only the cluster.
#define OMPI_SKIP_MPICXX
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kSmall = 8, kLarge = 1 << 20, kLarger = 8 << 20;
constexpr int kTag = 1;
/// Seconds of measurement per message size, and bounds on the number of round trips.
constexpr double kBudget = 0.5;
constexpr int kFewest = 3, kMost = 2000;
/// A link on which 1 MiB takes this long (seconds there and back) is not measured with 8 MiB.
constexpr double kSlow = 1.0;

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

/// Rank 0 announces this to its partner: the number and the size of messages each way, one after
/// the other (there and back) or both at once.
struct Round {
  int bytes = 0, trips = 0, at_once = 0;
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
  if (round.at_once != 0) {
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
double exchange_seconds(int other, Buffers& buffers, int bytes, bool at_once) {
  median_of(other, buffers, {bytes, 1, at_once});
  const double estimate = median_of(other, buffers, {bytes, 1, at_once});
  const double trips = std::clamp<double>(kBudget / std::max(estimate, 1e-9), kFewest, kMost);
  return median_of(other, buffers, {bytes, static_cast<int>(trips), at_once});
}

/// Rank 0: bytes per second that it exchanges with rank `other`, both directions together.
double rate(int other, Buffers& buffers, bool at_once) {
  double seconds = exchange_seconds(other, buffers, kLarge, at_once);
  const double rate = 2.0 * kLarge / seconds;
  if (seconds >= kSlow) return rate;
  seconds = exchange_seconds(other, buffers, kLarger, at_once);
  return std::max(rate, 2.0 * kLarger / seconds);
}

/// Rank 0: the numbers of its link to rank `other`, as JSON.
std::string measure(int other) {
  Buffers buffers;
  const double latency = exchange_seconds(other, buffers, kSmall, false) / 2;
  const double one_way = rate(other, buffers, false), both = rate(other, buffers, true);
  const Round end;
  MPI_Send(&end, kRoundInts, MPI_INT, other, kTag, MPI_COMM_WORLD);
  char text[192];
  std::snprintf(text, sizeof text,
                R"({"latency_seconds":%.3e,"bytes_per_second":%.0f,"both_bytes_per_second":%.0f})",
                latency, one_way, both);
  return text;
}

/// The partner of `measure`.
void answer() {
  Buffers buffers;
  for (Round round;;) {
    MPI_Recv(&round, kRoundInts, MPI_INT, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (round.trips == 0) return;
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
