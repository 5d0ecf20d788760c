#include "tests/cuda/emulation/fibers.hpp"

#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <vector>

namespace orrery::emulation {
namespace {

[[noreturn]] void broken(const char* what) {
  std::fprintf(stderr, "emulated CUDA: %s\n", what);
  std::abort();
}

/// A place to come back to. Only the first entry of a fiber needs ucontext, whose switches cost two
/// system calls; all others are the compiler's.
using Context = std::array<void*, 5>;

struct Fiber {
  static constexpr std::size_t kStackBytes = std::size_t{256} << 10U;
  Context context{};
  ucontext_t first{};
  bool started = false;
  std::unique_ptr<char[]> stack{new char[kStackBytes]};
  Place place;
  const std::uint64_t* awaited = nullptr;  ///< a generation that must leave `seen`
  std::uint64_t seen = 0;
  bool ready() const { return *awaited != seen; }
};

/// Fibers that meet: the generation counts the meetings.
struct Meeting {
  std::uint64_t generation = 0;
  unsigned arrived = 0;  ///< threads of the block, or the lanes as bits
};

/// The lanes of one mask of one warp. Words alternate between two rooms, so that a fast lane's next
/// word does not overwrite what a slow one has yet to read.
struct WarpMeeting : Meeting {
  unsigned warp = 0, mask = 0;
  std::array<WarpWords, 2> words{};
};

/// Runs one block after another on the calling thread. A fiber that comes to the end of its CUDA
/// thread takes the next one, so a kernel without barriers needs a single fiber.
class Scheduler {
 public:
  void run_block(const Place& block, const std::function<void()>& body) {
    place_ = block;
    body_ = &body;
    next_ = finished_ = 0;
    total_ = block.block_extent.x * block.block_extent.y * block.block_extent.z;
    barrier_ = {};
    warps_.clear();
    while (finished_ < total_) resume(pick());
    current_place = nullptr;
  }

  void block_barrier() {
    if (++barrier_.arrived == total_) {
      barrier_.arrived = 0;
      ++barrier_.generation;
    } else {
      await(barrier_);
    }
  }

  const WarpWords& warp_exchange(unsigned mask, std::uint64_t word) {
    const unsigned warp = running_->place.linear / 32, lane = running_->place.linear % 32;
    if ((mask >> lane & 1U) == 0) broken("a lane calls a warp function without being in its mask");
    WarpMeeting& meeting = meeting_of(warp, mask);
    WarpWords& words = meeting.words[meeting.generation % 2];
    words[lane] = word;
    meeting.arrived |= 1U << lane;
    if (meeting.arrived == mask) {
      meeting.arrived = 0;
      ++meeting.generation;
    } else {
      await(meeting);
    }
    return words;
  }

 private:
  WarpMeeting& meeting_of(unsigned warp, unsigned mask) {
    for (auto& m : warps_)
      if (m.warp == warp && m.mask == mask) return m;
    warps_.emplace_back();
    warps_.back().warp = warp;
    warps_.back().mask = mask;
    return warps_.back();
  }

  /// A fiber that can go on: with a thread that was not begun, else past a barrier.
  Fiber& pick() {
    if (next_ < total_) {
      if (idle_.empty()) {
        all_.push_back(std::make_unique<Fiber>());
        idle_.push_back(all_.back().get());
      }
      Fiber& fiber = *idle_.back();
      idle_.pop_back();
      return fiber;
    }
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      Fiber* fiber = waiting_.front();
      waiting_.pop_front();
      if (fiber->ready()) return *fiber;
      waiting_.push_back(fiber);
    }
    broken("a barrier or warp function is not reached by all threads that it waits for");
  }

  void await(const Meeting& meeting) {
    Fiber& self = *running_;
    self.awaited = &meeting.generation;
    self.seen = meeting.generation;
    waiting_.push_back(&self);
    leave(self);
  }

  /// The life of a fiber.
  [[noreturn]] void live(Fiber& self) {
    while (true) {
      while (next_ < total_) {
        begin_thread(self.place);
        (*body_)();
        ++finished_;
      }
      idle_.push_back(&self);
      leave(self);
    }
  }

  void begin_thread(Place& place) {
    const unsigned n = next_++;
    const Index3& extent = place_.block_extent;
    place = place_;
    place.linear = n;
    place.thread = {n % extent.x, n / extent.x % extent.y, n / (extent.x * extent.y)};
  }

  __attribute__((noinline)) void resume(Fiber& fiber) {
    running_ = &fiber;
    current_place = &fiber.place;
    if (__builtin_setjmp(main_.data()) == 0) {
      if (fiber.started) jump(fiber.context);
      enter(fiber);
    }
  }
  __attribute__((noinline)) void leave(Fiber& self) {
    if (__builtin_setjmp(self.context.data()) == 0) jump(main_);
  }
  [[noreturn]] __attribute__((noinline, no_sanitize("address"))) static void jump(Context& to) {
    __builtin_longjmp(to.data(), 1);
  }
  __attribute__((noinline)) void enter(Fiber& fiber) {
    fiber.started = true;
    getcontext(&fiber.first);
    fiber.first.uc_stack.ss_sp = fiber.stack.get();
    fiber.first.uc_stack.ss_size = Fiber::kStackBytes;
    makecontext(&fiber.first, reinterpret_cast<void (*)()>(&Scheduler::entry), 0);
    setcontext(&fiber.first);
  }
  static void entry();

  Place place_;
  const std::function<void()>* body_ = nullptr;
  unsigned next_ = 0, finished_ = 0, total_ = 0;
  Meeting barrier_;
  std::deque<WarpMeeting> warps_;
  Context main_{};
  Fiber* running_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> all_;
  std::vector<Fiber*> idle_;
  std::deque<Fiber*> waiting_;
};

Scheduler& scheduler() {
  static thread_local Scheduler one;
  return one;
}

void Scheduler::entry() {
  Scheduler& self = scheduler();
  self.live(*self.running_);
}

}  // namespace

void run_grid(Index3 grid, Index3 block, const std::function<void()>& body) {
  Place at;
  at.grid_extent = grid;
  at.block_extent = block;
  for (at.block.z = 0; at.block.z < grid.z; ++at.block.z)
    for (at.block.y = 0; at.block.y < grid.y; ++at.block.y)
      for (at.block.x = 0; at.block.x < grid.x; ++at.block.x) scheduler().run_block(at, body);
}

void block_barrier() { scheduler().block_barrier(); }

const WarpWords& warp_exchange(unsigned mask, std::uint64_t word) {
  return scheduler().warp_exchange(mask, word);
}

}  // namespace orrery::emulation
