// The settings under "inference" in an experiment file, as plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/model/model_config.hpp"
#include "core/sample/neighbour_sampler.hpp"

namespace orrery {

/// How rows that are spread over the ranks of a part are multiplied by W.
///   ring    tiles travel around: a rank gets its share of the rows whole, multiplies it, and the
///           result travels back
///   reduce  a rank multiplies its columns by the rows of W that they meet, and all add up what they
///           got
enum class DenseProduct : std::uint8_t { ring, reduce };

/// How a part's rows of A are multiplied by x, whose rows are at other parts.
///   ids_then_rows   a rank asks for the distinct rows that it needs by their numbers, and gets its
///                   columns of them (Deal)
///   exchange_graph  a rank sends its rows of A to whoever has the rows of x that they meet, and gets
///                   partial results back
///   two_d           A is cut into tiles of rows and columns as well: a rank gets whole rows of x for
///                   its columns of A, and the ranks of a part add up what they got
enum class SparseProduct : std::uint8_t { ids_then_rows, exchange_graph, two_d };

/// Who computes the numbers that attention has for the edges of a part, which needs whole rows.
///   duplicated  each rank of the part computes those of all of its edges
///   split       each computes those of some rows, and all tell each other (Deal)
enum class EdgeProduct : std::uint8_t { duplicated, split };

/// How rows of features in unordered files reach the ranks that compute with them.
///   scan          every rank goes through all files and takes the rows of its tile
///   redistribute  every rank reads an equal share of the rows, and sends each tile its own
///   fused         every rank reads an equal share, and the first product takes rows from where they lie:
///                 a sum asks for those that it needs; for a product with weights whoever has read
///                 a row multiplies it and sends the result (Deal)
enum class Preparation : std::uint8_t { scan, redistribute, fused };

struct InferenceConfig {
  int fanout = kAllNeighbours;  ///< neighbours of each vertex in each layer, at most
  int rows = 1;                 ///< P: parts of the vertices
  int columns = 1;              ///< M: shares of the columns of each part
  /// Rows of other parts are fetched in groups of at most this many bytes (and at least one row);
  /// 0: all rows of one part together. Not for exchange_graph, which fetches none.
  std::int64_t group_bytes = 0;
  /// Columns of a sum over neighbours that are computed at a time. They then take the place of
  /// those of the layer's input, so that activations exist once. 0: all, in memory of their own.
  int sum_columns = 0;
  DenseProduct gemm = DenseProduct::ring;
  SparseProduct spmm = SparseProduct::ids_then_rows;
  EdgeProduct sddmm = EdgeProduct::split;  ///< for models that weigh edges
  /// What each graph convolution multiplies by first, if has_orders(); empty: all as ModelConfig::order
  /// says.
  std::vector<LayerOrder> order{};
  Preparation preparation = Preparation::fused;  ///< for features in files
  std::uint64_t seed = 0;                        ///< of the drawn neighbours
};

/// Whether InferenceConfig::order applies: layers multiply x by A and by W, in either order. Computed
/// weights of edges and largest values need x·W, and layers from outside decide themselves.
inline bool has_orders(const ModelConfig& model) {
  return model.type == ModelType::gcn || model.type == ModelType::sage ||
         model.type == ModelType::resgcn;
}

/// What the graph convolution `layer` (from 1) multiplies by first. Orders that differ in the backward
/// pass alone are one here.
inline LayerOrder order_of(const InferenceConfig& config, const ModelConfig& model, int layer) {
  if (!config.order.empty()) return config.order[static_cast<std::size_t>(layer) - 1];
  return model.order == LayerOrder::aggregate_both ? LayerOrder::aggregate_first : model.order;
}

}  // namespace orrery
