#include "core/runtime/check/check_digest.hpp"

#include <fmt/core.h>

#include <map>
#include <sstream>
#include <tuple>

#include "core/base/error.hpp"

namespace orrery {
namespace {

using Key = std::tuple<Lane, std::uint16_t, int, int, int, int, int>;
Key key_of(const CollectiveDigest& d) {
  return {d.lane, d.group.id, d.group.first, d.group.size, d.group.stride, d.from, d.to};
}

/// FNV-1a.
void mix(std::uint64_t& hash, const std::string& text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
}

class Digester {
 public:
  explicit Digester(const Program& program) : rank_(program.rank) {
    for (const Step& step : program.steps)
      if (const auto* submit = std::get_if<SubmitStep>(&step))
        std::visit([&](const auto& op) { take(submit->lane, op); }, submit->op);
  }

  std::vector<CollectiveDigest> list() const {
    std::vector<CollectiveDigest> all;
    for (const auto& [key, digest] : digests_) all.push_back(digest);
    return all;
  }

 private:
  static std::string shape(const Tensor& t) {
    return fmt::format("{}x{} {}", t.rows(), t.cols(), name_of(t.dtype));
  }
  template <class T>
  void take(Lane, const T&) {}  // a local or one-sided op: no call of another rank matches it
  void take(Lane lane, const Broadcast& o) { add(lane, o, o.root, shape(o.x)); }
  void take(Lane lane, const BroadcastSparse& o) {
    add(lane, o, o.root, fmt::format("{}x{} {}", o.a.shape.rows, o.a.shape.cols, shape(o.values)));
  }
  void take(Lane lane, const Reduce& o) { add(lane, o, o.root, shape(o.x)); }
  void take(Lane lane, const AllReduce& o) { add(lane, o, 0, shape(o.x)); }
  void take(Lane lane, const ReduceScatter& o) { add(lane, o, 0, o.attributes() + shape(o.x)); }
  void take(Lane lane, const AllGather& o) { add(lane, o, 0, o.attributes() + shape(o.y)); }
  void take(Lane lane, const AllToAllV& o) {
    add(lane, o, 0, fmt::format("{} {}", o.x.cols(), name_of(o.x.dtype)));
    const int me = o.group.index_of(rank_);
    for (int i = 0; i < o.group.size; ++i) {
      const auto at = static_cast<std::size_t>(i);
      message(lane, o.group, me, i, std::to_string((*o.send_rows)[at]));
      if (i != me) message(lane, o.group, i, me, std::to_string((*o.recv_rows)[at]));
    }
  }
  void take(Lane lane, const SendRecv& o) {
    const int me = o.group.index_of(rank_);
    if (o.send) message(lane, o.group, me, o.to, shape(*o.send));
    if (o.recv && o.from != me) message(lane, o.group, o.from, me, shape(*o.recv));
  }

  void take(Lane lane, const Expose& o) { take_store(lane, o); }
  void take(Lane lane, const Withdraw& o) { take_store(lane, o); }

  template <class T>
  void add(Lane lane, const T& op, int root, const std::string& sizes) {
    add({lane, op.group}, fmt::format("{} {} {};", T::kKind, root, sizes));
  }
  /// The number of rows of each rank is not compared.
  template <class T>
  void take_store(Lane lane, const T& o) {
    add({lane, o.store.group},
        fmt::format("{} {} {} {};", T::kKind, o.store.id, o.rows.cols(), name_of(o.rows.dtype)));
  }
  void message(Lane lane, const Group& group, int from, int to, const std::string& sizes) {
    add({lane, group, from, to}, sizes + ";");
  }
  void add(const CollectiveDigest& of, const std::string& call) {
    CollectiveDigest& digest = digests_.try_emplace(key_of(of), of).first->second;
    ++digest.calls;
    mix(digest.hash, call);
  }

  int rank_;
  std::map<Key, CollectiveDigest> digests_;
};

}  // namespace

std::vector<CollectiveDigest> digest_collectives(const Program& program) {
  return Digester(program).list();
}

std::vector<Finding> compare_digests(const std::vector<std::vector<CollectiveDigest>>& of_rank) {
  std::map<Key, std::vector<std::pair<int, CollectiveDigest>>> sequences;
  for (std::size_t r = 0; r < of_rank.size(); ++r)
    for (const CollectiveDigest& d : of_rank[r])
      sequences[key_of(d)].emplace_back(static_cast<int>(r), d);
  std::vector<Finding> findings;
  for (const auto& [key, held] : sequences) {
    const auto& [first, want] = held.front();
    const bool messages = want.from >= 0;
    const std::string what = messages ? fmt::format("messages from index {} to {} of {}", want.from,
                                                    want.to, to_string(want.group))
                                      : "collectives of " + to_string(want.group);
    const auto members = static_cast<std::size_t>(!messages              ? want.group.size
                                                  : want.from == want.to ? 1
                                                                         : 2);
    if (held.size() != members) {
      findings.push_back({first, 0,
                          fmt::format("{} on {}: {} of {} ranks take part", what,
                                      name_of(want.lane), held.size(), members)});
      continue;
    }
    for (const auto& [rank, got] : held)
      if (got.calls != want.calls || got.hash != want.hash) {
        findings.push_back(
            {rank, 0,
             fmt::format("{} on {} do not match those of rank {} ({} calls against {})", what,
                         name_of(want.lane), first, got.calls, want.calls)});
        break;
      }
  }
  return findings;
}

std::string to_text(const std::vector<CollectiveDigest>& digests) {
  std::string text;
  for (const CollectiveDigest& d : digests)
    text += fmt::format("{} {} {} {} {} {} {} {} {}\n", static_cast<int>(d.lane), d.group.id,
                        d.group.first, d.group.size, d.group.stride, d.from, d.to, d.calls, d.hash);
  return text;
}

std::vector<CollectiveDigest> digests_from_text(const std::string& text) {
  std::istringstream in(text);
  std::vector<CollectiveDigest> digests;
  CollectiveDigest d;
  for (int lane = 0; in >> lane >> d.group.id >> d.group.first >> d.group.size >> d.group.stride >>
                     d.from >> d.to >> d.calls >> d.hash;) {
    d.lane = static_cast<Lane>(lane);
    digests.push_back(d);
  }
  return digests;
}

}  // namespace orrery
