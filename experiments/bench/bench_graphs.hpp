// The graphs of the kernel benchmarks, made once each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/csr.hpp"

namespace orrery {

/// Vertices of the benchmark graphs: 2^20, or KERNEL_BENCH_VERTICES (for a smoke run).
std::int64_t bench_vertices();

/// "uniform", "rmat" or "communities" (of about 1024 vertices; a fifth of the edges leave them): 16
/// entries per vertex, symmetric, with scrambled numbers. Kept until the next graph is requested.
std::shared_ptr<const Csr> bench_graph(const std::string& name);

/// The columns [t·cols/tiles, (t+1)·cols/tiles) of `a` for each t, renumbered from 0.
std::vector<std::shared_ptr<const Csr>> column_tiles(const Csr& a, std::int64_t tiles);

}  // namespace orrery
