#include "sim/price/roofline.hpp"

#include <algorithm>

namespace orrery::sim {

GatherTraffic gather_traffic(const SpMM& op, double cache_bytes) {
  const double edges = static_cast<double>(op.a.nnz), cols = static_cast<double>(op.a.shape.cols),
               rows = static_cast<double>(op.a.shape.rows);
  const double row_bytes = static_cast<double>(op.x.cols()) * 4;
  const double values = op.values ? static_cast<double>(op.values->bytes()) : 0;
  const double structure = edges * 4 + values + rows * 8;
  const double output = rows * row_bytes * (op.beta == 0 ? 1 : 2);
  const double used_once = std::min(edges, cols) * row_bytes, all = edges * row_bytes;
  const double reuse = op.a.reuse * cols * row_bytes;
  const double hits = reuse <= cache_bytes ? 1 : cache_bytes / reuse;
  const double from_memory = std::max(used_once, (1 - hits) * all);
  return {structure + output + from_memory, all - from_memory};
}

double roofline_seconds(const Op& op, const Roofline& roofline,
                        const Roofline::Efficiency& efficiency) {
  const double flops = flops_of(op) / (roofline.flops_per_second * efficiency.flops);
  double bytes = bytes_of(op) / roofline.bytes_per_second;
  if (const auto* product = std::get_if<SpMM>(&op)) {
    const GatherTraffic traffic = gather_traffic(*product, roofline.cache_bytes);
    bytes = traffic.memory_bytes / roofline.bytes_per_second;
    if (traffic.cache_bytes > 0) bytes += traffic.cache_bytes / roofline.cache_bytes_per_second;
  }
  return roofline.launch_seconds + std::max(flops, bytes / efficiency.bytes);
}

}  // namespace orrery::sim
