// Plays the collectives of all ranks against each other: each must meet its like, in an order that
// never stalls.
#include <fmt/core.h>

#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "core/runtime/check/check.hpp"
#include "core/runtime/check/check_stores.hpp"

namespace orrery {
namespace {

struct Call {
  std::size_t step;
  Lane lane;
  const Op* op;
};

/// Groups are told apart by what they are, so that two ranks cannot mean different groups by one
/// id.
using Meeting = std::tuple<Lane, std::uint16_t, int, int, int>;
Meeting meeting_of(const Call& call) {
  const Group g = *group_of(*call.op);
  return {call.lane, g.id, g.first, g.size, g.stride};
}

std::string shape_text(const Tensor& t) {
  return fmt::format("{}x{} {}", t.rows(), t.cols(), name_of(t.dtype));
}

/// Why two calls of the same kind do not fit together; empty when they do. `i` and `j` are their
/// group indices.
struct Mismatch {
  int i, j;
  std::string operator()(const Broadcast& a, const Broadcast& b) const {
    if (a.root != b.root) return fmt::format("roots {} and {}", a.root, b.root);
    return same(a.x, b.x);
  }
  std::string operator()(const BroadcastSparse& a, const BroadcastSparse& b) const {
    if (a.root != b.root) return fmt::format("roots {} and {}", a.root, b.root);
    return a.a.shape == b.a.shape ? same(a.values, b.values) : "patterns of different shape";
  }
  std::string operator()(const Reduce& a, const Reduce& b) const {
    if (a.root != b.root) return fmt::format("roots {} and {}", a.root, b.root);
    return same(a.x, b.x);
  }
  std::string operator()(const AllReduce& a, const AllReduce& b) const { return same(a.x, b.x); }
  std::string operator()(const ReduceScatter& a, const ReduceScatter& b) const {
    return *a.rows == *b.rows ? same(a.x, b.x) : "different row counts";
  }
  std::string operator()(const AllGather& a, const AllGather& b) const {
    return *a.rows == *b.rows ? same(a.y, b.y) : "different row counts";
  }
  std::string operator()(const AllToAllV& a, const AllToAllV& b) const {
    if (a.x.cols() != b.x.cols() || a.x.dtype != b.x.dtype) return "different widths";
    const auto at = [](const auto& rows, int k) { return (*rows)[static_cast<std::size_t>(k)]; };
    for (const auto& [from, to, sent, received] :
         {std::tuple{i, j, at(a.send_rows, j), at(b.recv_rows, i)},
          std::tuple{j, i, at(b.send_rows, i), at(a.recv_rows, j)}})
      if (sent != received)
        return fmt::format("index {} sends {} rows to {}, which expects {}", from, sent, to,
                           received);
    return {};
  }
  std::string operator()(const Expose& a, const Expose& b) const {
    if (a.store != b.store) return other_stores(a, b);
    return a.rows.cols() == b.rows.cols() && a.rows.dtype == b.rows.dtype
               ? ""
               : fmt::format("rows of different widths, {} and {}", shape_text(a.rows),
                             shape_text(b.rows));
  }
  std::string operator()(const Withdraw& a, const Withdraw& b) const {
    return a.store == b.store ? "" : other_stores(a, b);
  }
  template <class A, class B>
  std::string operator()(const A&, const B&) const {
    return fmt::format("{} meets {}", A::kKind, B::kKind);
  }

 private:
  template <class T>
  static std::string other_stores(const T& a, const T& b) {
    return fmt::format("{} and {}", to_string(a.store), to_string(b.store));
  }
  static std::string same(const Tensor& a, const Tensor& b) {
    return a.shape == b.shape && a.dtype == b.dtype
               ? ""
               : fmt::format("sizes {} and {}", shape_text(a), shape_text(b));
  }
};

class CollectiveCheck {
 public:
  explicit CollectiveCheck(std::span<const Program> programs) : ranks_(programs.size()) {
    for (std::size_t r = 0; r < programs.size(); ++r)
      for (std::size_t s = 0; s < programs[r].steps.size(); ++s)
        if (const auto* submit = std::get_if<SubmitStep>(&programs[r].steps[s]))
          if (is_collective(submit->op)) ranks_[r].calls.push_back({s, submit->lane, &submit->op});
  }

  std::vector<Finding> run() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) ready_.push_back(static_cast<int>(r));
    while (!ready_.empty() && findings_.empty()) {
      const int r = ready_.front();
      ready_.pop_front();
      arrive(r);
    }
    if (findings_.empty()) report_stalled();
    return std::move(findings_);
  }

 private:
  struct Rank {
    std::vector<Call> calls;
    std::size_t next = 0;
    int halves = 0;  ///< halves of a send_recv that still wait
    const Call* head() const { return next < calls.size() ? &calls[next] : nullptr; }
  };
  using Mail = std::tuple<Meeting, int, int>;  ///< meeting, sender, receiver
  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  void arrive(int rank) {
    const Call* call = at(rank).head();
    if (call == nullptr) return;
    const Group group = *group_of(*call->op);
    if (!group.contains(rank))
      return found(rank, fmt::format("calls a collective of {}, to which it does not belong",
                                     to_string(group)));
    if (const auto* message = std::get_if<SendRecv>(call->op)) return post(rank, *message);
    auto& waiting = waiting_[meeting_of(*call)];
    waiting.push_back(rank);
    if (static_cast<int>(waiting.size()) == group.size) meet(std::exchange(waiting, {}), group);
  }

  void meet(const std::vector<int>& members, const Group& group) {
    const int first = members.front();
    for (const int other : members) {
      if (other == first) continue;
      const std::string why = std::visit(Mismatch{group.index_of(first), group.index_of(other)},
                                         *at(first).head()->op, *at(other).head()->op);
      if (!why.empty())
        return found(other, fmt::format("does not match rank {} step {}: {}", first,
                                        at(first).head()->step, why));
    }
    for (const int member : members) advance(member);
  }

  void post(int rank, const SendRecv& message) {
    const Meeting meeting = meeting_of(*at(rank).head());
    const Group& g = message.group;
    at(rank).halves = (message.send ? 1 : 0) + (message.recv ? 1 : 0);
    if (at(rank).halves == 0) return advance(rank);
    if (message.send) {
      const Mail mail{meeting, rank, g.rank_of(message.to)};
      sends_[mail] = *message.send;
      deliver(mail);
    }
    if (message.recv) {
      const Mail mail{meeting, g.rank_of(message.from), rank};
      receives_[mail] = *message.recv;
      deliver(mail);
    }
  }

  void deliver(const Mail& mail) {
    const auto send = sends_.find(mail);
    const auto receive = receives_.find(mail);
    if (send == sends_.end() || receive == receives_.end()) return;
    const auto [meeting, from, to] = mail;
    if (send->second.shape != receive->second.shape || send->second.dtype != receive->second.dtype)
      return found(to, fmt::format("receives {} from rank {}, which sends {}",
                                   shape_text(receive->second), from, shape_text(send->second)));
    sends_.erase(send);
    receives_.erase(receive);
    for (const int rank : {from, to})
      if (--at(rank).halves == 0) advance(rank);
  }

  void advance(int rank) {
    ++at(rank).next;
    ready_.push_back(rank);
  }

  void report_stalled() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const Call* call = ranks_[r].head();
      if (call == nullptr) continue;
      std::string others;
      const Group group = *group_of(*call->op);
      for (int i = 0; i < group.size; ++i) {
        const int peer = group.rank_of(i);
        if (peer == static_cast<int>(r) || peer >= static_cast<int>(ranks_.size())) continue;
        const Call* head = at(peer).head();
        if (head != nullptr && meeting_of(*head) == meeting_of(*call)) continue;
        others += head == nullptr
                      ? fmt::format("; rank {} has no more", peer)
                      : fmt::format("; rank {} is at step {}: {} on {}", peer, head->step,
                                    kind_of(*head->op), name_of(head->lane));
      }
      return found(static_cast<int>(r), fmt::format("{} on {} waits forever{}", kind_of(*call->op),
                                                    name_of(call->lane), others));
    }
  }

  void found(int rank, std::string problem) {
    findings_.push_back({rank, at(rank).head()->step, std::move(problem)});
  }

  std::vector<Rank> ranks_;
  std::deque<int> ready_;
  std::map<Meeting, std::vector<int>> waiting_;
  std::map<Mail, Tensor> sends_, receives_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> find_collective_problems(std::span<const Program> programs) {
  std::vector<Finding> findings = CollectiveCheck(programs).run();
  return findings.empty() ? find_store_problems(programs) : findings;
}

}  // namespace orrery
