#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "backends/comm_mpi/schedules.hpp"
#include "core/base/cache_line.hpp"
#include "core/base/index.hpp"

namespace orrery::mpi {
namespace {

/// Sizes of a piece, and of those of all peers together. Measured on two cores (shared memory, 64
/// MiB over two ranks): 128 KiB to 512 KiB give 5.4 GB/s, because pieces are added up while they
/// are in the cache; 64 KiB gives 4.4, 4 MiB 3.6.
constexpr std::int64_t kPieceBytes = std::int64_t{256} << 10;
constexpr std::int64_t kAllPiecesBytes = std::int64_t{16} << 20;

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

/// Memory for incoming data from a cache line on, kept by each lane's thread: fresh pages cost as much
/// as the messages.
std::byte* scratch(std::int64_t bytes) {
  static thread_local std::unique_ptr<std::byte, Free> memory;
  static thread_local std::int64_t held = 0;
  if (held < bytes) {
    held = 0;
    const std::int64_t whole = (bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
    memory.reset(static_cast<std::byte*>(std::aligned_alloc(kCacheLineBytes, at(whole))));
    if (memory == nullptr) throw std::bad_alloc();
    held = whole;
  }
  return memory.get();
}

/// out ← Σ sources, in their order and from zero. Block by block, so that sums stay in the nearest
/// cache, and the first two at once; `out` may be one of the sources.
template <class T>
void add_up(std::span<const T* const> sources, T* out, std::int64_t n) {
  constexpr std::int64_t kBlock = 1024;
  std::array<T, kBlock> total;
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    const std::int64_t count = std::min(kBlock, n - begin);
    const T* first = sources[0] + begin;
    if (sources.size() == 1) {
      for (std::int64_t k = 0; k < count; ++k) total[at(k)] = T{0} + first[k];
    } else {
      const T* second = sources[1] + begin;
      for (std::int64_t k = 0; k < count; ++k) total[at(k)] = T{0} + first[k] + second[k];
      for (const T* source : sources.subspan(2))
        for (std::int64_t k = 0; k < count; ++k) total[at(k)] += source[begin + k];
    }
    std::copy_n(total.data(), count, out + begin);
  }
}

/// One sum: in every round each rank receives the next piece of its slice from everybody, while it
/// adds up the piece before and sends it out.
template <class T>
class SliceSum {
 public:
  SliceSum(Batch& batch, const Group& group, int me, std::span<const std::int64_t> bounds,
           const T* x, T* out, T* spread)
      : batch_(batch), group_(group), me_(me), bounds_(bounds), x_(x), out_(out), spread_(spread) {
    std::int64_t longest = 0;
    for (int i = 0; i < group.size; ++i) longest = std::max(longest, end_of(i) - begin_of(i));
    const auto element = static_cast<std::int64_t>(sizeof(T));
    piece_ = std::min(kPieceBytes, kAllPiecesBytes / group.size) / element;
    rounds_ = static_cast<int>((longest + piece_ - 1) / piece_);
    const std::int64_t slice = std::min(piece_, end_of(me) - begin_of(me));
    stride_ = (slice + kInLine - 1) / kInLine * kInLine + kInLine;
    arrivals_ = reinterpret_cast<T*>(scratch(2 * stride_ * (group.size - 1) * element));
  }

  void run() {
    if (rounds_ > 0) collect(0);
    for (int k = 0; k < rounds_; ++k) {
      if (k + 1 < rounds_) collect(k + 1);
      batch_.wait(k);
      add(k);
      if (spread_ != nullptr) hand_out(k);
    }
    batch_.wait(rounds_ + 2);
  }

 private:
  static constexpr std::int64_t kInLine = kCacheLineBytes / static_cast<std::int64_t>(sizeof(T));

  std::int64_t begin_of(int i) const { return bounds_[at(i)]; }
  std::int64_t end_of(int i) const { return bounds_[at(i) + 1]; }
  /// First element and number of elements of piece k of slice i.
  std::int64_t first(int i, int k) const { return begin_of(i) + k * piece_; }
  std::int64_t count(int i, int k) const {
    return std::clamp<std::int64_t>(end_of(i) - first(i, k), 0, piece_);
  }
  std::int64_t bytes(int i, int k) const {
    return count(i, k) * static_cast<std::int64_t>(sizeof(T));
  }
  int peer(int d) const { return (me_ + d) % group_.size; }
  /// Where piece k of this rank's slice arrives from the peer at distance d: at the place in a cache
  /// line that it has in the peer's x. The system copies it from there, and took three times as long
  /// to a place that is 16 bytes off (AMD EPYC).
  T* arrival(int d, int k) {
    const std::int64_t place = (k % 2) * (group_.size - 1) + d - 1;
    return arrivals_ + place * stride_ + first(me_, k) % kInLine;
  }

  void collect(int k) {
    for (int d = 1; d < group_.size; ++d)
      batch_.receive(k, group_.rank_of(peer(d)), arrival(d, k), bytes(me_, k));
    for (int d = 1; d < group_.size; ++d)
      if (const int to = peer(d); bytes(to, k) > 0)
        batch_.send(k, group_.rank_of(to), x_ + first(to, k), bytes(to, k));
  }

  void add(int k) {
    if (count(me_, k) == 0) return;
    sources_.assign(static_cast<std::size_t>(group_.size), x_ + first(me_, k));
    for (int d = 1; d < group_.size; ++d) sources_[at(peer(d))] = arrival(d, k);
    add_up<T>(sources_, out_ + k * piece_, count(me_, k));
  }

  /// In step k + 2: round k + 2 is then waited for, and all that was sent of x in round k has left
  /// before the sum arrives there.
  void hand_out(int k) {
    for (int d = 1; d < group_.size; ++d)
      if (const int from = peer(d); bytes(from, k) > 0)
        batch_.receive(k + 2, group_.rank_of(from), spread_ + first(from, k), bytes(from, k));
    for (int d = 1; d < group_.size; ++d)
      batch_.send(k + 2, group_.rank_of(peer(d)), out_ + k * piece_, bytes(me_, k));
  }

  Batch& batch_;
  const Group& group_;
  int me_;
  std::span<const std::int64_t> bounds_;
  const T* x_;
  T *out_, *spread_;
  int rounds_ = 0;
  std::int64_t piece_ = 0;  // elements
  T* arrivals_ = nullptr;   // two rounds of incoming data, `stride_` elements apart
  std::int64_t stride_ = 0;
  std::vector<const T*> sources_;  // by group index
};

}  // namespace

template <class T>
void sum_slices(Batch& batch, const Group& group, int me, std::span<const std::int64_t> bounds,
                const T* x, T* out, T* spread) {
  SliceSum<T>(batch, group, me, bounds, x, out, spread).run();
}

template void sum_slices(Batch&, const Group&, int, std::span<const std::int64_t>, const float*,
                         float*, float*);
template void sum_slices(Batch&, const Group&, int, std::span<const std::int64_t>, const double*,
                         double*, double*);

}  // namespace orrery::mpi
