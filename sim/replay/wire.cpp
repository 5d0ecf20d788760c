#include "sim/replay/wire.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <type_traits>

#include "core/base/error.hpp"

namespace orrery::sim {
namespace {

/// Appends values; the visits below serve it and Reader alike.
class Writer {
 public:
  static constexpr bool kReads = false;
  template <class T>
  void raw(T* values, std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(values), count * sizeof(T));
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  static constexpr bool kReads = true;
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}
  template <class T>
  void raw(T* values, std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (count == 0) return;
    if (bytes_.size() - at_ < count * sizeof(T))
      throw Error("a message to or from the simulator ends too early");
    std::memcpy(values, bytes_.data() + at_, count * sizeof(T));
    at_ += count * sizeof(T);
  }

 private:
  const std::string& bytes_;
  std::size_t at_ = 0;
};

template <class A, class T>
requires std::is_trivially_copyable_v<T>
void visit(A& a, T& value) { a.raw(&value, 1); }

template <class A>
void visit(A& a, std::string& text) {
  auto size = text.size();
  a.raw(&size, 1);
  text.resize(size);
  a.raw(text.data(), size);
}

template <class A, class T>
void visit(A& a, std::vector<T>& list) {
  auto size = list.size();
  a.raw(&size, 1);
  if constexpr (std::is_trivially_copyable_v<T> && !std::is_same_v<T, std::string_view>) {
    list.resize(size);
    a.raw(list.data(), size);
  } else {
    if (A::kReads) list.assign(size, T{});
    for (T& item : list) visit(a, item);
  }
}

/// Names of kinds are static on both sides.
template <class A>
void visit_kind(A& a, std::string_view& kind) {
  std::string name(kind);
  visit(a, name);
  if (A::kReads) kind = name == "host" ? "host" : kind_named(name);
}

template <class A>
void visit(A& a, ClusterNode& n) {
  visit(a, n.name), visit(a, n.kind), visit(a, n.server);
}
template <class A>
void visit(A& a, ClusterLink& l) {
  visit(a, l.from), visit(a, l.to), visit(a, l.bytes_per_second), visit(a, l.latency_seconds);
  visit(a, l.duplex), visit(a, l.type), visit(a, l.count), visit(a, l.both_bytes_per_second);
}
template <class A>
void visit(A& a, Device& d) {
  visit(a, d.node), visit(a, d.type), visit(a, d.profile), visit(a, d.memory_bytes);
  visit(a, d.memory_bytes_per_second), visit(a, d.flops_per_second), visit(a, d.cores);
}
template <class A>
void visit(A& a, Cluster& c) {
  visit(a, c.name), visit(a, c.description), visit(a, c.nodes), visit(a, c.links);
  visit(a, c.devices), visit(a, c.host_memory_bytes), visit(a, c.relay_through_devices);
}
template <class A>
void visit(A& a, Library& l) {
  visit(a, l.name), visit(a, l.issue_seconds), visit(a, l.collective_seconds),
      visit(a, l.message_seconds);
  visit(a, l.copy_bytes_per_second), visit(a, l.core_seconds_per_byte);
  visit(a, l.reduce_bytes_per_second);
}
template <class A>
void visit(A& a, CollectiveOptions& o) {
  visit(a, o.algorithm), visit(a, o.window), visit(a, o.chunk_bytes), visit(a, o.channels);
}
template <class A>
void visit(A& a, RankSchedule& s) {
  for (auto& lane : s.lanes) visit(a, lane);
  visit(a, s.host), visit(a, s.phases), visit(a, s.works), visit(a, s.calls), visit(a, s.parts);
  visit(a, s.device_bytes);
  auto kinds = s.kinds.size();
  visit(a, kinds);
  s.kinds.resize(kinds);
  for (auto& kind : s.kinds) visit_kind(a, kind);
  visit(a, s.issued);
}

/// Each schedule once, in the order of first use, and each rank's number of it.
template <class A>
void visit(A& a, std::vector<PricedProgram>& programs) {
  std::vector<std::shared_ptr<const RankSchedule>> distinct;
  std::vector<std::uint32_t> numbers;
  std::map<const RankSchedule*, std::uint32_t> known;
  for (const PricedProgram& p : programs) {
    const auto number = static_cast<std::uint32_t>(distinct.size());
    const auto [found, is_new] = known.try_emplace(p.schedule.get(), number);
    if (is_new) distinct.push_back(p.schedule);
    numbers.push_back(found->second);
  }
  visit(a, numbers);
  auto count = distinct.size();
  visit(a, count);
  distinct.resize(count);
  for (auto& schedule : distinct) {
    auto copy =
        schedule ? std::make_shared<RankSchedule>(*schedule) : std::make_shared<RankSchedule>();
    visit(a, *copy);
    if (A::kReads) schedule = copy;
  }
  programs.resize(numbers.size());
  for (std::size_t r = 0; r < numbers.size(); ++r) {
    programs[r].schedule = distinct[numbers[r]];
    visit(a, programs[r].groups);
  }
}

template <class A>
void visit(A& a, Simulation& s) {
  visit(a, s.cluster), visit(a, s.devices), visit(a, s.programs), visit(a, s.behaviour);
  visit(a, s.library), visit(a, s.collectives), visit(a, s.hosts), visit(a, s.timeline_ranks);
  visit(a, s.timeline_epochs), visit(a, s.progress);
}

template <class A>
void visit(A& a, EpochCost& c) {
  Breakdown& b = c.breakdown;
  for (double* part : {&c.seconds, &b.compute, &b.internal, &b.external, &b.synchronise, &b.sample,
                       &b.load, &b.other, &b.hidden})
    visit(a, *part);
  std::vector<std::pair<std::string, double>> kinds(b.compute_by_kind.begin(),
                                                    b.compute_by_kind.end());
  auto count = kinds.size();
  visit(a, count);
  kinds.resize(count);
  for (auto& [kind, seconds] : kinds) visit(a, kind), visit(a, seconds);
  b.compute_by_kind = {kinds.begin(), kinds.end()};
}
template <class A>
void visit(A& a, Span& s) {
  visit(a, s.lane), visit_kind(a, s.kind), visit(a, s.communicates), visit(a, s.crosses_servers);
  visit(a, s.phase), visit(a, s.begin), visit(a, s.end), visit(a, s.flops), visit(a, s.bytes);
}
template <class A>
void visit(A& a, Timeline& t) {
  visit(a, t.rank), visit(a, t.marks), visit(a, t.memory);
  auto spans = t.spans.size();
  visit(a, spans);
  t.spans.resize(spans);
  for (Span& span : t.spans) visit(a, span);
}
template <class A>
void visit(A& a, LinkUse& l) {
  visit(a, l.name), visit(a, l.type), visit(a, l.bytes_per_second), visit(a, l.bytes);
  visit(a, l.busy_seconds);
}
template <class A>
void visit(A& a, AlgorithmUse& u) {
  visit(a, u.kind), visit(a, u.ranks), visit(a, u.algorithm), visit(a, u.least_bytes);
  visit(a, u.most_bytes), visit(a, u.calls);
}
template <class A>
void visit(A& a, Replay& r) {
  visit(a, r.epochs), visit(a, r.timelines), visit(a, r.links), visit(a, r.algorithms);
  visit(a, r.messages), visit(a, r.operations), visit(a, r.simulated_seconds);
  visit(a, r.wall_seconds), visit(a, r.peak_rss_bytes);
}

template <class T>
std::string written(const T& value) {
  Writer writer;
  visit(writer, const_cast<T&>(value));  // a writer changes nothing
  return writer.take();
}
template <class T>
T read(const std::string& bytes) {
  Reader reader(bytes);
  T value;
  visit(reader, value);
  return value;
}

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
Simulation simulation_from(const std::string& bytes) { return read<Simulation>(bytes); }
Replay replay_from(const std::string& bytes) { return read<Replay>(bytes); }

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
  bytes.resize(header.bytes);
  return read_all(descriptor, bytes.data(), bytes.size());
}

}  // namespace orrery::sim
