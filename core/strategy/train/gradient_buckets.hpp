// Gradients leave in buckets while the backward pass goes on.
#pragma once

#include <cstdint>

#include "core/model/parameters.hpp"
#include "core/strategy/product/rank_products.hpp"

namespace orrery {

/// The gradients of one step, summed over the ranks of RankProducts::gradient_group(). A bucket
/// takes whole parameters from the last one down until it has `bytes` bytes. It leaves as soon as
/// they are computed, in the order of the backward pass.
///
/// Placement gradients: a summand on each rank; after finish() the sum, on all of the group
/// Source    Li et al. 2020 (PyTorch Distributed, section 3.2.3: bucketed, overlapped all-reduces)
/// Departs   the first bucket is as large as the others; PyTorch's has 1 MiB at most
class GradientBuckets {
 public:
  /// `bytes` 0: all leave together, in finish().
  GradientBuckets(Runtime& rt, const RankProducts& products, const Parameters& parameters,
                  std::int64_t bytes, int epoch)
      : rt_(rt),
        group_(products.gradient_group()),
        parameters_(parameters),
        bytes_(bytes),
        epoch_(epoch),
        end_(parameters.count()) {}

  /// The gradients of this parameter and of all later ones have been computed, on the compute lane.
  void ready_from(int parameter);
  /// All gradients have been computed: sends what is left, and the compute lane waits for every
  /// bucket.
  void finish();

 private:
  /// The gradients of the parameters from `first` on that are in no bucket yet.
  Tensor open_from(int first) const { return parameters_.gradients(first, end_); }
  void send_from(int first);

  Runtime& rt_;
  std::optional<Group> group_;
  const Parameters& parameters_;
  std::int64_t bytes_;
  int epoch_;
  int end_;  ///< from here on all parameters are in buckets that have left
};

}  // namespace orrery
