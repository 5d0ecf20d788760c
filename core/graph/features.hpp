// Vertex features in any place: in memory, in a mapped file, sparse, or computed from a counter.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/half.hpp"
#include "core/graph/csr.hpp"

namespace orrery {

/// Rows of float32 features, read on demand: a rank copies only the rows it holds.
class Features {
 public:
  virtual ~Features() = default;
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t width() const = 0;
  /// Writes row `vertices[i]`, columns [col0, col0 + cols), to out[i·ld .. i·ld + cols).
  /// Thread-safe. Parallel.
  virtual void read(std::span<const Vertex> vertices, std::int64_t col0, std::int64_t cols,
                    float* out, std::int64_t ld) const = 0;
  /// Origin of the values, in words: "mapped file features.npy", "generated (random, 128 columns)".
  virtual std::string provenance() const = 0;
  /// True if every value is 0 or 1 (the default of `row_normalise`).
  virtual bool binary() const { return false; }
  /// True if the values are numbers of 16 bits, and must be held so.
  virtual bool half() const { return false; }
  /// Like read(), in 16 bits.
  ///
  /// Requires  half()
  virtual void read_half(std::span<const Vertex> vertices, std::int64_t col0, std::int64_t cols,
                         Half* out, std::int64_t ld) const;
  /// True if the values are generated and no data of this data set.
  virtual bool made_up() const { return false; }
};

/// Dense features held in memory, row-major [rows, width].
std::shared_ptr<const Features> dense_features(std::int64_t rows, std::int64_t width,
                                               std::vector<float> values, std::string provenance,
                                               bool made_up);

/// Random features: entry (v, c) is a standard normal draw of (seed, v, c). Rows that are read again
/// are kept; no others are stored.
std::shared_ptr<const Features> random_features(std::int64_t rows, std::int64_t width,
                                                std::uint64_t seed);

/// Generated features of labelled vertices: row v is the centre of its class plus unit normal
/// noise, or noise alone where its class is -1. Centres point in random directions and are
/// `distance` apart on average. The centres and the classes are stored, and rows that are read
/// again.
///
/// Shapes    labels [rows], each from -1 to classes - 1
std::shared_ptr<const Features> class_features(std::vector<std::int32_t> labels,
                                               std::int64_t classes, std::int64_t width,
                                               double distance, std::uint64_t seed);

/// The same features with every row divided by its sum (rows that sum to zero become zero).
/// One pass over the features at construction; 4 bytes per vertex are kept.
std::shared_ptr<const Features> row_normalised(std::shared_ptr<const Features> features);

/// The same features with vertices renumbered: row v of the result is row old_id[v] of `features`.
std::shared_ptr<const Features> permuted(std::shared_ptr<const Features> features,
                                         std::vector<Vertex> old_id);

/// The same features rounded to 16 bits: rows in memory are then held so, of others nothing is.
///
/// Errors    ConfigError under "dataset": a number beyond kLargestHalf
/// Cost      one pass over the features
std::shared_ptr<const Features> half_features(std::shared_ptr<const Features> features);

/// Some of the rows: row i of the result is row rows[i] of `features`.
std::shared_ptr<const Features> selected(std::shared_ptr<const Features> features,
                                         std::vector<Vertex> rows);

}  // namespace orrery
