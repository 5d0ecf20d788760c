// Operations of given sizes for every price key, with operands as in training.
#pragma once

#include <map>
#include <string>

#include "experiments/calibrate/time_ops.hpp"

namespace orrery::calibrate {

/// Sizes of an operation by the names of its axes.
using Sizes = std::map<std::string, double, std::less<>>;

/// Several operations of one key and of the given sizes, each on other operands: about as many as
/// an epoch has buffers of that size, or as many as fit.
///
/// The columns of sparse products are spread over the matrix at random, so the column_reuse() of
/// the patterns is about 1. Gathered rows are every other row, in ascending order, like those of a
/// boundary. Element-wise operations are in place where those of the models are, and products of at
/// most two edges a row are added to their destination.
///
/// If `ragged` is 2, a width (or columns of a head) that is a multiple of 8 is made a little
/// smaller, so that it is none, with more rows for the same work. If there is a `skew`, the lengths
/// of the rows fall by a power law that has it, as far as the number of rows allows.
///
/// Requires  a key of price_keys(), and of its axes all that the grid has, but threads; n beside
///           n16 for another n than that
BuildOps build_ops(const std::string& key, const Sizes& sizes);

/// One product with a given pattern, with values.
BuildOps build_product(std::shared_ptr<const Csr> pattern, std::int64_t width);

}  // namespace orrery::calibrate
