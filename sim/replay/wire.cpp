#include "sim/replay/wire.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "core/base/error.hpp"
#include "core/runtime/run_fields.hpp"

namespace orrery {

template <class A>
void fields(A& a, ClusterNode& node) {
  auto& [name, kind, server] = node;
  a(name, kind, server);
}

template <class A>
void fields(A& a, ClusterLink& link) {
  auto& [from, to, bytes_per_second, latency_seconds, duplex, type, count, both] = link;
  a(from, to, bytes_per_second, latency_seconds, duplex, type, count, both);
}

template <class A>
void fields(A& a, Device& device) {
  auto& [node, type, profile, memory_bytes, memory_rate, flops_rate, cores] = device;
  a(node, type, profile, memory_bytes, memory_rate, flops_rate, cores);
}

template <class A>
void fields(A& a, ServerHost& host) {
  auto& [cores, memory_rate, memory_bytes, pinned_bytes, profile] = host;
  a(cores, memory_rate, memory_bytes, pinned_bytes, profile);
}

template <class A>
void fields(A& a, FileStorage& storage) {
  auto& [server_rate, shared_rate, latency_seconds] = storage;
  a(server_rate, shared_rate, latency_seconds);
}

template <class A>
void fields(A& a, Cluster& cluster) {
  auto& [name, description, nodes, links, devices, host, relay, storage, per_machine] = cluster;
  a(name, description, nodes, links, devices, host, relay, storage, per_machine);
}

}  // namespace orrery

namespace orrery::sim {

template <class A>
void fields(A& a, RateBySize& rate) {
  auto& [points] = rate;
  a(points);
}

template <class A>
void fields(A& a, Library& library) {
  auto& [name, issue, collective, message, copy_rate, core_seconds_per_byte, reduce_rate] = library;
  a(name, issue, collective, message, copy_rate, core_seconds_per_byte, reduce_rate);
}

template <class A>
void fields(A& a, CollectiveOptions& options) {
  auto& [algorithm, window, chunk_bytes, channels] = options;
  a(algorithm, window, chunk_bytes, channels);
}

template <class A>
void fields(A& a, RankSchedule& schedule) {
  auto& [lanes, host, phases, works, calls, accesses, parts, device_bytes, kinds, issued] =
      schedule;
  for (auto& lane : lanes) a(lane);
  a(host, phases, works, calls, accesses, parts, device_bytes, kinds, issued);
}

/// Writes each schedule once, in the order of first use, and each rank's number of it.
static void visit(Writer& writer, std::vector<PricedProgram>& programs) {
  std::vector<const RankSchedule*> distinct;
  std::vector<std::uint32_t> numbers;
  std::map<const RankSchedule*, std::uint32_t> known;
  for (const PricedProgram& p : programs) {
    const auto number = static_cast<std::uint32_t>(distinct.size());
    const auto [found, is_new] = known.try_emplace(p.schedule.get(), number);
    if (is_new) distinct.push_back(p.schedule.get());
    numbers.push_back(found->second);
  }
  writer(numbers);
  writer.count(distinct.size(), 1);
  for (const RankSchedule* schedule : distinct) writer(const_cast<RankSchedule&>(*schedule));
  for (PricedProgram& p : programs) writer(p.groups);
}

/// Reads them; ranks that shared one share it again.
static void visit(Reader& reader, std::vector<PricedProgram>& programs) {
  std::vector<std::uint32_t> numbers;
  reader(numbers);
  std::vector<std::shared_ptr<RankSchedule>> distinct(reader.count(0, sizeof(std::size_t)));
  for (auto& schedule : distinct) {
    schedule = std::make_shared<RankSchedule>();
    reader(*schedule);
  }
  for (const std::uint32_t number : numbers) {
    if (number >= distinct.size()) throw Error("a rank of a simulation has no schedule");
    reader(programs.emplace_back(PricedProgram{distinct[number], {}}).groups);
  }
}

template <class A>
void fields(A& a, Simulation& simulation) {
  auto& [cluster, devices, programs, behaviour, library, collectives, hosts, timeline_ranks,
         timeline_epochs, engine] = simulation;
  a(cluster, devices, programs, behaviour, library, collectives, hosts, timeline_ranks,
    timeline_epochs, engine);
}

template <class A>
void fields(A& a, LinkUse& link) {
  auto& [name, type, bytes_per_second, bytes, busy_seconds] = link;
  a(name, type, bytes_per_second, bytes, busy_seconds);
}

template <class A>
void fields(A& a, AlgorithmUse& use) {
  auto& [kind, ranks, algorithm, least_bytes, most_bytes, calls] = use;
  a(kind, ranks, algorithm, least_bytes, most_bytes, calls);
}

template <class A>
void fields(A& a, Replay& replay) {
  auto& [epochs, setup_seconds, timelines, links, algorithms, messages, operations,
         simulated_seconds, wall_seconds, peak_rss_bytes] = replay;
  a(epochs, setup_seconds, timelines, links, algorithms, messages, operations, simulated_seconds,
    wall_seconds, peak_rss_bytes);
}

namespace {

bool write_all(int descriptor, const char* data, std::size_t count) {
  while (count > 0) {
    const ssize_t n = ::write(descriptor, data, count);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    count -= static_cast<std::size_t>(n);
  }
  return true;
}

bool read_all(int descriptor, char* data, std::size_t count) {
  while (count > 0) {
    const ssize_t n = ::read(descriptor, data, count);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    count -= static_cast<std::size_t>(n);
  }
  return true;
}

struct Header {
  std::uint64_t bytes;
  Answer kind;
};

}  // namespace

std::string to_bytes(const Simulation& simulation) { return written(simulation); }
std::string to_bytes(const Replay& replay) { return written(replay); }
Simulation simulation_from(const std::string& bytes) { return read_back<Simulation>(bytes); }
Replay replay_from(const std::string& bytes) { return read_back<Replay>(bytes); }

bool write_message(int descriptor, Answer kind, const std::string& bytes) {
  Header header{};
  header.bytes = bytes.size();
  header.kind = kind;
  return write_all(descriptor, reinterpret_cast<const char*>(&header), sizeof header) &&
         write_all(descriptor, bytes.data(), bytes.size());
}

bool read_message(int descriptor, Answer& kind, std::string& bytes) {
  Header header{};
  if (!read_all(descriptor, reinterpret_cast<char*>(&header), sizeof header)) return false;
  kind = header.kind;
  // Memory is allocated as bytes arrive: a killed process may have left half a header.
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20U;
  bytes.clear();
  while (bytes.size() < header.bytes) {
    const std::size_t got = bytes.size();
    bytes.resize(got + std::min(kPiece, header.bytes - got));
    if (!read_all(descriptor, bytes.data() + got, bytes.size() - got)) return false;
  }
  return true;
}

}  // namespace orrery::sim
