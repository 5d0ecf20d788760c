// Movement of rows by index.
#include "backends/cpu/isa/isa_kernels.hpp"
#include "backends/cpu/isa/vector.hpp"

namespace orrery::cpu::ORRERY_ISA {
namespace {

constexpr std::int64_t kAhead = 8;  // rows

inline void copy_row(const float* from, float* to, std::int64_t width) {
  std::int64_t c = 0;
  for (; c + kLanes <= width; c += kLanes) store<kLanes>(to + c, load<kLanes>(from + c));
  for (; c < width; ++c) to[c] = from[c];
}

inline void add_row(const float* from, float* to, std::int64_t width) {
  std::int64_t c = 0;
  for (; c + kLanes <= width; c += kLanes)
    store<kLanes>(to + c, load<kLanes>(to + c) + load<kLanes>(from + c));
  for (; c < width; ++c) to[c] += from[c];
}

}  // namespace

void gather(const IndexedArgs& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    prefetch(args.x.row(args.index[smaller(i + kAhead, args.indices - 1)]), args.width);
    copy_row(args.x.row(args.index[i]), args.y.row(i), args.width);
  }
}

void scatter_add(const IndexedArgs& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = 0; i < args.indices; ++i) {
    const std::int64_t target = args.index[i];
    if (target < begin || target >= end) continue;
    prefetch(args.y.row(args.index[smaller(i + kAhead, args.indices - 1)]), args.width);
    add_row(args.x.row(i), args.y.row(target), args.width);
  }
}

}  // namespace orrery::cpu::ORRERY_ISA
