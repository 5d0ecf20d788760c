#include "sim/price/roofline.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace orrery::sim {
namespace {

/// Bytes that come in whole sectors for a row at a multiple of its own length: on average over where
/// in a sector rows begin, which are the multiples of the greatest common divisor.
double sector_bytes(std::int64_t row_bytes) {
  constexpr std::int64_t kSector = 32;
  return static_cast<double>(row_bytes + kSector - std::gcd(row_bytes, kSector));
}

/// What the longest row adds to a product that takes `seconds` without it being longer than others.
double wait_for_longest_row(const SpMM& op, const Roofline& roofline, double efficiency,
                            double seconds) {
  const double rows = static_cast<double>(op.a.shape.rows);
  if (roofline.multiprocessors <= 1 || op.a.skew <= 1 || rows == 0 || seconds <= 0) return 0;
  const double edges = op.a.skew * static_cast<double>(op.a.nnz) / rows;
  const double rate = roofline.cache_bytes_per_second * efficiency / roofline.multiprocessors;
  const double alone = edges * sector_bytes(op.x.cols() * 4) / rate;
  return alone <= seconds ? alone * alone / (2 * seconds) : alone - seconds / 2;
}

/// Of an op that reads a row of `width` columns for every entry, and `streamed` bytes once.
GatherTraffic gather_traffic(const Sparse& a, std::int64_t width, double streamed,
                             double cache_bytes) {
  const double edges = static_cast<double>(a.nnz), cols = static_cast<double>(a.shape.cols);
  const double gathered = sector_bytes(width * 4);
  const double used_once = std::min(edges, cols) * gathered, all = edges * gathered;
  const double reuse = a.reuse * cols * (static_cast<double>(width) * 4);
  const double hits = reuse <= cache_bytes ? 1 : cache_bytes / reuse;
  const double from_memory = std::max(used_once, (1 - hits) * all);
  return {streamed + from_memory, all - from_memory};
}

/// Offsets and column numbers.
double structure_bytes(const Sparse& a) {
  return static_cast<double>(a.nnz) * 4 + static_cast<double>(a.shape.rows) * 8;
}

}  // namespace

GatherTraffic gather_traffic(const SpMM& op, double cache_bytes) {
  const double values = op.values ? static_cast<double>(op.values->bytes()) : 0;
  const double output = static_cast<double>(op.y.bytes()) * (op.beta == 0 ? 1 : 2);
  return gather_traffic(op.a, op.x.cols(), structure_bytes(op.a) + values + output, cache_bytes);
}

GatherTraffic gather_traffic(const Sddmm& op, double cache_bytes) {
  const double streamed =
      structure_bytes(op.a) + static_cast<double>(op.x.bytes() + op.dots.bytes());
  return gather_traffic(op.a, op.z.cols(), streamed, cache_bytes);
}

double roofline_seconds(const Op& op, const Roofline& roofline,
                        const Roofline::Efficiency& efficiency) {
  const double flops = flops_of(op) / (roofline.flops_per_second * efficiency.flops);
  double bytes = bytes_of(op) / roofline.bytes_per_second, longest = 0;
  const auto take = [&](const GatherTraffic& traffic) {
    bytes = traffic.memory_bytes / roofline.bytes_per_second;
    if (traffic.cache_bytes > 0) bytes += traffic.cache_bytes / roofline.cache_bytes_per_second;
  };
  if (const auto* dots = std::get_if<Sddmm>(&op)) take(gather_traffic(*dots, roofline.cache_bytes));
  if (const auto* product = std::get_if<SpMM>(&op)) {
    take(gather_traffic(*product, roofline.cache_bytes));
    longest = wait_for_longest_row(*product, roofline, efficiency.bytes,
                                   std::max(flops, bytes / efficiency.bytes));
  }
  return roofline.launch_seconds + std::max(flops, bytes / efficiency.bytes) + longest;
}

}  // namespace orrery::sim
