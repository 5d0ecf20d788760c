// One rank's epoch in the view of the closed forms: products in stages of communication and
// computation, and what is between them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/runtime/program.hpp"

namespace orrery {

/// Seconds of an operation, alone.
using Price = std::function<double(const Op&)>;

/// One product with a matrix that is spread over the ranks. Stage i needs (or, with `sums`, sends
/// away) what communicate[i] brings; each list in seconds.
struct StagedProduct {
  std::string kind;  ///< kind of its computation: spmm, gemm
  Group group;       ///< of its dense communication
  bool sums = false;
  std::vector<double> communicate, compute;
  double external_share = 0;  ///< of its communication
  std::int64_t width = 0;     ///< columns that are multiplied, over all ranks
  std::int64_t received_rows = 0;
  double received_bytes = 0;
};

struct StagedEpoch {
  std::vector<StagedProduct> products;
  double compute = 0;                             ///< all computation, including that of products
  std::map<std::string, double> compute_by_kind;  ///< the same
  /// communication that belongs neither to products nor to gradients
  double internal = 0, external = 0;
  double synchronise = 0;  ///< communication of gradients
  /// The part of it that remains when the backward pass ends, if buckets leave while it computes
  /// and nothing else is waited for.
  double synchronise_exposed = 0;
  double gradient_bytes = 0;
};

/// Analyses a recorded epoch by the marks of its products (ProductMark). `external_share`: the
/// share of the time of a collective that is communication between servers.
///
/// Requires  a program with that epoch
StagedEpoch stage_epoch(const Program& program, int epoch, const Price& local,
                        const Price& collective,
                        const std::function<double(const Op&)>& external_share);

/// Time of a product, one stage after the other, and with overlap of communication and computation.
///
/// Source    MG-GCN section 4.3 for broadcasts; sums are the same read backwards; a halo is two
///           stages, own rows (no communication) and the halo
double serial_seconds(const StagedProduct& product);
double overlapped_seconds(const StagedProduct& product);

}  // namespace orrery
