// The matrix A that a model aggregates with: the graph's pattern with the model's normalisation as
// values. Row v holds the weights with which vertex v adds up its in-neighbours.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "core/graph/dataset.hpp"
#include "core/graph/sparse_matrix.hpp"
#include "core/model/model_config.hpp"

namespace orrery {

/// How the entries of A follow from the degrees.
struct Weighting {
  bool loops = false;      ///< stored self-loops are dropped; with `loops` one is added to each row
  bool symmetric = false;  ///< A = Aᵀ: 1/sqrt(d_v·d_u), else 1/d_v
  bool sum = false;        ///< all entries are 1
  /// The entry in row v, column u, from their row lengths in A.
  float operator()(double row_length, double column_length) const {
    return static_cast<float>(scale(row_length, column_length));
  }
  double scale(double row_length, double column_length) const {
    if (sum) return 1;
    return symmetric ? 1 / std::sqrt(row_length * column_length) : 1 / row_length;
  }
  /// Whether entries depend on the row lengths of their columns.
  bool by_columns() const { return symmetric && !sum; }
};
/// Errors    ConfigError if symmetric normalisation is asked for on a directed graph
Weighting weighting_of(const ModelConfig& model, bool symmetric_graph);

/// GCN: stored self-loops dropped, one added to every vertex; values 1/sqrt(d_v·d_u) (symmetric) or
/// 1/d_v (row), d the row lengths of the result. GraphSAGE-mean: stored self-loops dropped, values
/// 1/d_v; a vertex without neighbours has an empty row. Layers from outside: as they say.
///
/// Errors    ConfigError if symmetric normalisation is asked for on a directed graph
/// Source    Kipf and Welling 2017, eq. 2; Hamilton et al. 2017, mean aggregator
SparseMatrix normalised_adjacency(const Dataset& data, const ModelConfig& model);

/// The mean over the in-neighbours of each vertex: stored self-loops dropped, values 1/d_v. A vertex
/// without neighbours has an empty row.
SparseMatrix mean_adjacency(const Csr& graph);

/// The mean by weights: values w_vu / Σ w of the row. A row whose weights are all 0 is one of zeros.
///
/// Shapes    weights [entries of the graph]
SparseMatrix mean_adjacency(const Csr& graph, const std::vector<float>& weights);

/// The same as normalised_adjacency() of a graph whose edges have weights w: its entries are
/// w_vu / sqrt(d_v·d_u), w_vu / d_v or w_vu, with d the sums of the weights in the rows of A; a self-loop that is added weighs 1. A row
/// whose weights are all 0 is one of zeros.
///
/// Shapes    weights [edges], of the graph's entries in their order
/// Errors    as normalised_adjacency()
/// Source    PyTorch Geometric's gcn_norm
SparseMatrix weighted_adjacency(const Dataset& data, const std::vector<float>& weights,
                                const ModelConfig& model);

/// The same of a part of a graph, normalised by the given row lengths: those of the A of the whole
/// graph, or of this one.
///
/// Shapes    lengths [rows]
SparseMatrix normalised_adjacency(const Csr& graph, bool symmetric_graph, const ModelConfig& model,
                                  std::span<const std::int64_t> lengths);

/// The pattern without its stored self-loops.
Csr without_self_loops(const Csr& graph);

/// Number of entries in each row of A.
std::vector<std::int64_t> row_lengths(const Csr& graph, const Weighting& weight);

}  // namespace orrery
