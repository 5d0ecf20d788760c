#include "backends/comm_threads/comm_threads.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <tuple>
#include <vector>

#include "backends/comm_threads/thread_stores.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"

namespace orrery {
namespace {

/// What one rank brings to a collective.
struct Arrival {
  const Op* op = nullptr;
  const RankMemory* memory = nullptr;
};

/// The meeting place of one group on one lane. Ranks pass a barrier to see each other's calls,
/// copy, and pass another before anyone may touch its operands again. A barrier is two numbers of
/// its own, so that groups and lanes do not wake each other.
struct Meeting {
  explicit Meeting(const Group& of)
      : group(of), calls(at(of.size)), came{std::vector<double>(at(of.size)), came[0]} {}
  Group group;
  std::vector<Arrival> calls;  // by group index
  std::atomic<int> arrived = 0;
  /// Twice the round, and 1 where a rank has failed: then no round begins any more. One number, so
  /// that all ranks agree whether a round had begun before the failure. After 2³¹ rounds it begins anew.
  std::atomic<std::uint32_t> word = 0;
  static constexpr std::uint32_t kFailed = 1, kRound = 2;
  /// When each came to the barrier of an even and of an odd round: who is late to leave one still
  /// reads its times while others have come to the next.
  std::array<std::vector<double>, 2> came;
};

/// How long a rank that has a core looks for the others before it sleeps: to be woken takes longer.
constexpr double kLookSeconds = 20e-6;
/// How long one that shares its core yields it to them before it sleeps: epochs of 4 to 16 ranks on two
/// cores are 2 to 16 % shorter. Supposed cause: a core on which all sleep halts, and is late to go on.
constexpr double kYieldSeconds = 500e-6;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Bytes that a rank copies in one call, from its own server and from others.
struct Copied {
  double inside = 0, between = 0;
};

struct Mail {
  const char* data = nullptr;
  std::int64_t bytes = 0;
};

using MeetingKey = std::tuple<Lane, std::uint16_t, int, int, int>;
MeetingKey key_of(Lane lane, const Group& g) { return {lane, g.id, g.first, g.size, g.stride}; }

}  // namespace

struct ThreadWorld::Shared {
  int ranks = 0;
  std::mutex mutex;
  std::condition_variable changed;
  std::string aborted;  // reason of the failure; empty: there is none
  std::map<MeetingKey, std::unique_ptr<Meeting>> meetings;
  std::map<std::tuple<MeetingKey, int, int>, Mail> mail;  // (place, sender, receiver)

  ThreadStores stores;

  /// Ranks that may be reading another rank's memory, but for that in stores.
  std::atomic<int> copying = 0;
  std::atomic<bool> failed = false;  // `aborted` is not empty
  bool looks = false;                // before it sleeps: there is a core for each rank

  /// Blocks until the condition holds. If a rank has failed instead: Aborted, but only after nobody
  /// copies any more, because the caller will free memory that others may be reading.
  template <class Condition>
  void await(std::unique_lock<std::mutex>& lock, const Condition& condition) {
    changed.wait(lock, [&] { return condition() || (!aborted.empty() && copying == 0); });
    if (!condition()) throw Aborted(aborted);
  }

  /// Nobody starts anything with the others after a failure: they may have left, with their memory.
  void require_alive(std::unique_lock<std::mutex>& lock) {
    await(lock, [&] { return aborted.empty(); });
  }

  Meeting& meeting(Lane lane, const Group& group) {
    const std::lock_guard lock(mutex);
    auto& slot = meetings[key_of(lane, group)];
    if (!slot) {
      slot = std::make_unique<Meeting>(group);
      if (failed) slot->word |= Meeting::kFailed;
    }
    return *slot;
  }

  /// Nobody starts anything with the others any more, and those who wait for them wake. The caller
  /// has locked the mutex.
  void fail(std::string_view why) {
    if (aborted.empty()) aborted = why;
    failed = true;
    for (auto& [key, meeting] : meetings) {
      meeting->word |= Meeting::kFailed;
      meeting->word.notify_all();
    }
    changed.notify_all();
  }

  /// Throws Aborted when nobody copies any more.
  [[noreturn]] void give_up() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return copying == 0; });
    throw Aborted(aborted);
  }

  /// Notes that `count` more ranks have finished copying.
  void copied(int count) {
    if (copying.fetch_sub(count) != count || !failed) return;
    const std::lock_guard lock(mutex);  // whoever waits for it has looked before, or sleeps by now
    changed.notify_all();
  }

  /// Until the word is another than `before`.
  void await(const std::atomic<std::uint32_t>& word, std::uint32_t before) const {
    for (const double until = now() + (looks ? kLookSeconds : kYieldSeconds); now() < until;) {
      if (word.load(std::memory_order_acquire) != before) return;
      if (!looks) std::this_thread::yield();
    }
    word.wait(before, std::memory_order_acquire);
  }

  /// Returns when all ranks of the meeting are here; if they are about to copy, all are counted as
  /// copying at once. The meter learns for whom its rank waited.
  void barrier(Meeting& meeting, int me, bool then_copy, ExchangeMeter& meter) {
    std::uint32_t word = meeting.word.load(std::memory_order_acquire);
    if ((word & Meeting::kFailed) != 0) give_up();
    const std::uint32_t round = word / Meeting::kRound;
    const int size = meeting.group.size;
    std::vector<double>& came = meeting.came[round % 2];
    came[at(me)] = now();
    if (meeting.arrived.fetch_add(1) + 1 == size) {
      meeting.arrived = 0;
      if (then_copy) copying += size;
      if (!meeting.word.compare_exchange_strong(word, word + Meeting::kRound)) {
        if (then_copy) copied(size);
        give_up();
      }
      meeting.word.notify_all();
    } else {
      await(meeting.word, word);
      if (meeting.word.load() / Meeting::kRound == round) give_up();
    }
    const double mine = came[at(me)];
    double inside = mine, outside = mine;
    for (int i = 0; i < meeting.group.size; ++i) {
      double& last = meter.external(meeting.group.rank_of(i)) ? outside : inside;
      last = std::max(last, came[at(i)]);
    }
    meter.time.add_wait(mine, inside, outside);
  }

  /// This rank leaves with its operands, but not before those that read them have finished.
  void leave(const std::string& why) {
    std::unique_lock lock(mutex);
    fail(why);
    changed.wait(lock, [&] { return copying == 0; });
  }

  /// Ends this rank's copying at the end of its scope, also when an error passes.
  struct Copying {
    Shared& shared;
    Mover& mover;
    ~Copying() {
      try {
        mover.settle();
      } catch (const std::exception&) {
        // The device has failed and copies nothing any more; its next user gets the error.
      }
      shared.copied(1);
    }
  };
};

class ThreadWorld::Rank final : public Communicator {
 public:
  Rank(Shared& shared, int rank) : Communicator(shared.ranks), shared_(shared), rank_(rank) {}
  std::string_view name() const override { return "threads"; }

  void abort(std::string_view why) noexcept override {
    {
      const std::lock_guard lock(shared_.mutex);
      shared_.fail(why);
    }
    close_stores();
  }
  void close_stores() noexcept override { shared_.stores.close_those_of(rank_); }

 protected:
  void move(const Call& call, const RankMemory& memory) override {
    if (const auto* rows = std::get_if<Pull>(&call.op)) return pull(call, *rows, memory);
    if (const auto* rows = std::get_if<Push>(&call.op)) return push(call, *rows, memory);
    try {
      if (const auto* message = std::get_if<SendRecv>(&call.op))
        exchange(call, *message, memory);
      else
        meet(call, memory);
    } catch (...) {
      shared_.leave(fmt::format("rank {} failed", rank_));
      throw;
    }
  }

 private:
  /// One call of this rank: where it meets the others, and what it works on.
  struct Here {
    int me;
    const Meeting& meeting;
    const RankMemory& memory;
    Mover& mover;
    const ExchangeMeter& meter;
    Copied& copied;

    void count(int from, std::int64_t bytes) const {
      (meter.external(from) ? copied.between : copied.inside) += static_cast<double>(bytes);
    }
  };

  /// Times what a rank copies, and divides the time by the origin of the bytes.
  template <class Copy>
  static void measure(ExchangeMeter& meter, const Copied& copied, const Copy& copy) {
    const double began = now();
    copy();
    const double all = copied.inside + copied.between, took = now() - began;
    if (all == 0) return;
    meter.time.add(false, took * copied.inside / all);
    meter.time.add(true, took * copied.between / all);
  }

  /// A collective of a whole group.
  void meet(const Call& call, const RankMemory& memory) {
    const Op& op = call.op;
    const Group group = *group_of(op);
    Meeting& meeting = shared_.meeting(call.lane, group);
    Copied copied;
    const Here here{group.index_of(rank_), meeting, memory, call.mover, call.meter, copied};
    meeting.calls[at(here.me)] = {&op, &memory};
    here.mover.settle();  // the others read what this lane has made so far
    shared_.barrier(meeting, here.me, true, call.meter);
    {
      const Shared::Copying copying{shared_, here.mover};
      for (const Arrival& other : meeting.calls)
        if (other.op->index() != op.index())
          throw ProgramError(rank_, 0, fmt::format("{} meets {}", kind_of(op), kind_of(*other.op)));
      measure(call.meter, copied, [&] {
        std::visit([&](const auto& o) { collect(o, here); }, op);
        here.mover.settle();
      });
    }
    if (const auto* sum = std::get_if<AllReduce>(&op)) {
      shared_.barrier(meeting, here.me, true, call.meter);
      const Shared::Copying copying{shared_, here.mover};
      copied = {};
      measure(call.meter, copied, [&] {
        spread(*sum, here);
        here.mover.settle();
      });
    }
    shared_.barrier(meeting, here.me, false, call.meter);
  }

  template <class T>
  static const T& peer(const Meeting& meeting, int index) {
    return std::get<T>(*meeting.calls[at(index)].op);
  }
  static const char* bytes_of_peer(const Meeting& meeting, int index, const Tensor& t) {
    return static_cast<const char*>(meeting.calls[at(index)].memory->bytes_at(t));
  }
  /// A copy of what group index `from` holds.
  template <class T>
  void take(const T& op, int from, void* to, const void* source, std::int64_t bytes,
            const Here& here, Mover& mover) {
    mover.copy(to, source, bytes);
    if (op.group.rank_of(from) == rank_) return;
    count_received(op.group.rank_of(from), bytes);
    here.count(op.group.rank_of(from), bytes);
  }

  void collect(const Broadcast& o, const Here& here) {
    const auto& [me, meeting, memory, mover, meter, copied] = here;
    if (me == o.root) return;
    const Tensor& source = peer<Broadcast>(meeting, o.root).x;
    match(source.bytes() == o.x.bytes(), o);
    take(o, o.root, memory.bytes_at(o.x), bytes_of_peer(meeting, o.root, source), o.x.bytes(), here,
         mover);
  }

  void collect(const BroadcastSparse& o, const Here& here) {
    const auto& [me, meeting, memory, mover, meter, copied] = here;
    if (me == o.root) return;
    const auto& source = peer<BroadcastSparse>(meeting, o.root);
    match(source.a.shape == o.a.shape && source.a.nnz == o.a.nnz, o);
    const RankMemory& theirs = *meeting.calls[at(o.root)].memory;
    const Csr& from = theirs.pattern(source.a);
    Csr& to = memory.fill_sparse(o.a);
    take(o, o.root, to.offsets.data(), from.offsets.data(), (o.a.shape.rows + 1) * 8, here,
         host_mover());
    take(o, o.root, to.columns.data(), from.columns.data(), o.a.nnz * 4, here, host_mover());
    take(o, o.root, memory.bytes_at(o.values), bytes_of_peer(meeting, o.root, source.values),
         o.values.bytes(), here, mover);
  }

  void collect(const Reduce& o, const Here& here) {
    const auto& [me, meeting, memory, mover, meter, copied] = here;
    const auto from = [&](int i) -> const Tensor& { return peer<Reduce>(meeting, i).x; };
    for (int i = 0; i < o.group.size; ++i) match(from(i).bytes() == o.x.bytes(), o);
    if (me == o.root) sum_elements(o, here, from, 0, o.x.shape.size(), o.x, 0);
  }

  /// Each rank sums one slice into its own operand (which no other rank reads then); spread()
  /// copies the slices around.
  void collect(const AllReduce& o, const Here& here) {
    const auto& [me, meeting, memory, mover, meter, copied] = here;
    const auto from = [&](int i) -> const Tensor& { return peer<AllReduce>(meeting, i).x; };
    for (int i = 0; i < o.group.size; ++i) match(from(i).bytes() == o.x.bytes(), o);
    sum_elements(o, here, from, slice(o, me), slice(o, me + 1), o.x, slice(o, me));
  }

  void spread(const AllReduce& o, const Here& here) {
    const auto& [me, meeting, memory, mover, meter, copied] = here;
    const std::int64_t element = bytes_of(o.x.dtype);
    for (int i = 0; i < o.group.size; ++i) {
      if (i == me) continue;
      const std::int64_t begin = slice(o, i) * element, end = slice(o, i + 1) * element;
      const char* from = bytes_of_peer(meeting, i, peer<AllReduce>(meeting, i).x);
      take(o, i, static_cast<char*>(memory.bytes_at(o.x)) + begin, from + begin, end - begin, here,
           mover);
    }
  }

  /// First element of the slice that group index i sums.
  static std::int64_t slice(const AllReduce& o, int i) {
    return o.x.shape.size() * i / o.group.size;
  }

  void collect(const ReduceScatter& o, const Here& here) {
    const auto& [me, meeting, memory, mover, meter, copied] = here;
    std::int64_t first = 0;
    for (int i = 0; i < me; ++i) first += (*o.rows)[at(i)];
    const auto from = [&](int i) -> const Tensor& { return peer<ReduceScatter>(meeting, i).x; };
    for (int i = 0; i < o.group.size; ++i) match(from(i).shape == o.x.shape, o);
    sum_elements(o, here, from, first * o.x.cols(), (first + o.y.rows()) * o.x.cols(), o.y, 0);
  }

  void collect(const AllGather& o, const Here& here) {
    const auto& [me, meeting, memory, mover, meter, copied] = here;
    auto* to = static_cast<char*>(memory.bytes_at(o.y));
    for (int i = 0; i < o.group.size; ++i) {
      const Tensor& source = peer<AllGather>(meeting, i).x;
      match(source.rows() == (*o.rows)[at(i)] && source.cols() == o.y.cols(), o);
      take(o, i, to, bytes_of_peer(meeting, i, source), source.bytes(), here, mover);
      to += source.bytes();
    }
  }

  void collect(const AllToAllV& o, const Here& here) {
    const auto& [me, meeting, memory, mover, meter, copied] = here;
    auto* to = static_cast<char*>(memory.bytes_at(o.y));
    const std::int64_t row = o.y.cols() * bytes_of(o.y.dtype);
    for (int i = 0; i < o.group.size; ++i) {
      const auto& source = peer<AllToAllV>(meeting, i);
      const auto rows = (*o.recv_rows)[at(i)];
      match((*source.send_rows)[at(me)] == rows && source.x.cols() == o.y.cols(), o);
      std::int64_t first = 0;
      for (int j = 0; j < me; ++j) first += (*source.send_rows)[at(j)];
      take(o, i, to, bytes_of_peer(meeting, i, source.x) + first * row, rows * row, here, mover);
      to += rows * row;
    }
  }

  /// When all have left this meeting, all have opened their rows.
  void collect(const Expose& o, const Here& here) {
    for (int i = 0; i < o.store.group.size; ++i) {
      const auto& other = peer<Expose>(here.meeting, i);
      match(other.store == o.store && other.rows.cols() == o.rows.cols() &&
                other.rows.dtype == o.rows.dtype,
            o);
    }
    const auto served = [this](int from, std::int64_t bytes) {
      if (from != rank_) count_received(from, bytes);
    };
    if (!shared_.stores.open(o.store, here.me,
                             std::make_shared<ExposedRows>(o.rows, here.memory, served)))
      throw ProgramError(rank_, 0, fmt::format("{} is open already", to_string(o.store)));
  }

  /// All have come to this meeting, so nobody asks for rows any more.
  void collect(const Withdraw& o, const Here& here) {
    for (int i = 0; i < o.store.group.size; ++i)
      match(peer<Withdraw>(here.meeting, i).store == o.store, o);
    if (!shared_.stores.rows_of(o.store, here.me)) throw not_exposed(rank_, o.store, rank_);
    shared_.stores.close(o.store, here.me);
  }

  template <class T>
  void collect(const T&, const Here&) {
    ORRERY_ASSERT(!"a local op, a message or a one-sided one, none of which meets");
  }

  /// One owner's part of a pull or push, and the requested rows.
  struct Asked {
    OwnerRequest request;
    std::shared_ptr<ExposedRows> rows;
  };

  /// Measures what is requested from another rank while it is in scope; own rows are no message.
  class Asking {
   public:
    Asking(const Call& call, int rank, int owner)
        : meter_(call.meter), owner_(owner), counts_(owner != rank) {
      change(+1);
    }
    ~Asking() { change(-1); }
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;

   private:
    void change(int by) {
      if (counts_) meter_.time.under_way(meter_.external(owner_), by, now());
    }
    ExchangeMeter& meter_;
    int owner_;
    bool counts_;
  };

  /// The parts of all owners, after a check of their row numbers.
  template <class T>
  std::vector<Asked> asked(const T& op, const Tensor& values, const RankMemory& memory) {
    const Group& group = op.store.group;
    const auto own =
        group.contains(rank_) ? shared_.stores.rows_of(op.store, group.index_of(rank_)) : nullptr;
    require_open(own != nullptr, op.store, rank_);
    require_same_width(rank_, op.store, values, own->window());
    if constexpr (std::is_same_v<T, Push>) require_pushable(rank_, op.store, own->window());
    std::vector<Asked> all;
    for (const OwnerRequest& request : requests_of(op, memory)) {
      const auto rows = shared_.stores.rows_of(op.store, request.owner_index);
      require_open(rows != nullptr, op.store, request.owner);
      require_rows(op.store, request, rows->window().rows());
      all.push_back({request, rows});
    }
    return all;
  }

  void pull(const Call& call, const Pull& o, const RankMemory& memory) {
    // Finishes what this lane still reads from y, or writes into the index and the places.
    call.mover.settle();
    const std::int64_t row = o.y.cols() * bytes_of(o.y.dtype);
    auto* y = static_cast<char*>(memory.bytes_at(o.y));
    const auto* places = o.places ? memory.data<std::int32_t>(*o.places) : nullptr;
    for (const auto& [request, rows] : asked(o, o.y, memory)) {
      const Asking asking(call, rank_, request.owner);
      require_open(places != nullptr ? rows->read(rank_, request.index, y, places + request.first)
                                     : rows->read(rank_, request.index, y + request.first * row),
                   o.store, request.owner);
      if (request.owner != rank_)
        count_received(request.owner, static_cast<std::int64_t>(request.index.size()) * row);
    }
  }

  void push(const Call& call, const Push& o, const RankMemory& memory) {
    call.mover.settle();  // finishes writes of this lane into x and the index
    const float* x = memory.data<float>(o.x);
    for (const auto& [request, rows] : asked(o, o.x, memory)) {
      const Asking asking(call, rank_, request.owner);
      require_open(rows->add(rank_, request.index, x + request.first * o.x.cols()), o.store,
                   request.owner);
    }
  }

  /// Must not be called within a meeting: it may wait until nobody copies there any more.
  void require_open(bool open, const Store& store, int owner) {
    if (open) return;
    std::unique_lock lock(shared_.mutex);
    shared_.require_alive(lock);
    throw not_exposed(rank_, store, owner);
  }

  /// out[at + (i − begin)] ← Σ over ranks of their operand's element i, for i in [begin, end): in
  /// rank order, so that every world of the same size gives the same bits. `out` may be this rank's
  /// own operand.
  template <class Collective, class From>
  void sum_elements(const Collective& op, const Here& here, const From& from, std::int64_t begin,
                    std::int64_t end, const Tensor& out, std::int64_t at) {
    const std::int64_t element = bytes_of(out.dtype);
    std::vector<const void*> parts;
    for (int i = 0; i < op.group.size; ++i) {
      parts.push_back(bytes_of_peer(here.meeting, i, from(i)) + begin * element);
      if (op.group.rank_of(i) == rank_) continue;
      count_received(op.group.rank_of(i), (end - begin) * element);
      here.count(op.group.rank_of(i), (end - begin) * element);
    }
    auto* to = static_cast<char*>(here.memory.bytes_at(out)) + at * element;
    here.mover.sum(out.dtype, parts, to, end - begin);
  }

  void exchange(const Call& call, const SendRecv& o, const RankMemory& memory) {
    const MeetingKey place = key_of(call.lane, o.group);
    const int to = o.to < 0 ? -1 : o.group.rank_of(o.to);
    const int from = o.from < 0 ? -1 : o.group.rank_of(o.from);
    call.mover.settle();  // the other rank reads data that this lane has made
    ExchangeMeter& meter = call.meter;
    const auto under_way = [&meter](int peer, int change) {
      meter.time.under_way(meter.external(peer), change, now());
    };
    std::unique_lock lock(shared_.mutex);
    shared_.require_alive(lock);
    if (o.recv) under_way(from, +1);
    if (o.send) {
      under_way(to, +1);
      shared_.mail[{place, rank_, to}] = {static_cast<const char*>(memory.bytes_at(*o.send)),
                                          o.send->bytes()};
      shared_.changed.notify_all();
    }
    if (o.recv) {
      const auto arrived = [&] {
        return shared_.aborted.empty() && shared_.mail.contains({place, from, rank_});
      };
      shared_.await(lock, arrived);
      const Mail mail = shared_.mail[{place, from, rank_}];
      match(mail.bytes == o.recv->bytes(), o);
      ++shared_.copying;
      lock.unlock();
      {
        const Shared::Copying copying{shared_, call.mover};
        call.mover.copy(memory.bytes_at(*o.recv), mail.data, mail.bytes);
        if (from != rank_) count_received(from, mail.bytes);
        call.mover.settle();
      }
      under_way(from, -1);
      lock.lock();
      shared_.mail.erase({place, from, rank_});
      shared_.changed.notify_all();
    }
    if (!o.send) return;
    shared_.await(lock, [&] { return !shared_.mail.contains({place, rank_, to}); });
    under_way(to, -1);
  }

  template <class T>
  void match(bool fits, const T& op) const {
    if (!fits)
      throw ProgramError(rank_, 0,
                         "operands do not match those of the other ranks: " + to_string(Op(op)));
  }

  Shared& shared_;
  int rank_;
};

ThreadWorld::ThreadWorld(int ranks) : shared_(std::make_unique<Shared>()) {
  shared_->ranks = ranks;
  shared_->looks = ranks <= available_cores();
}
ThreadWorld::~ThreadWorld() = default;

void ThreadWorld::run(const std::function<void(int rank, Communicator& communicator)>& body) {
  std::mutex mutex;
  std::exception_ptr first, woken;
  std::vector<std::thread> threads;
  const auto rank_body = [&](int r) {
    Rank communicator(*shared_, r);
    std::exception_ptr failure;
    bool merely_woken = false;
    try {
      body(r, communicator);
    } catch (const Aborted&) {
      failure = std::current_exception();
      merely_woken = true;
    } catch (...) {
      failure = std::current_exception();
    }
    if (!failure) return;
    {
      const std::lock_guard lock(mutex);
      auto& slot = merely_woken ? woken : first;
      if (!slot) slot = failure;
    }
    communicator.abort(fmt::format("rank {} failed", r));
  };
  try {
    for (int r = 0; r < shared_->ranks; ++r) threads.emplace_back(rank_body, r);
  } catch (const std::system_error&) {
    const std::lock_guard lock(mutex);
    first = std::make_exception_ptr(
        Error(fmt::format("{} ranks need more threads than the system grants (its limits are those "
                          "of ulimit -u and, for their memory, ulimit -v)",
                          shared_->ranks)));
    Rank(*shared_, 0).abort("not all ranks could be started");
  }
  for (auto& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
  if (woken) std::rethrow_exception(woken);
}

}  // namespace orrery
