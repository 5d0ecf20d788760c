// Weights of edges, which lie beside a data set and are used where they are asked for.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "core/graph/csr.hpp"

namespace orrery {

/// A weight for each entry of a graph, in their order, finite and >= 0.
using EdgeWeights = std::shared_ptr<const std::vector<float>>;

/// Where an entry of a row is among all entries.
///
/// Requires  it is there
EdgeIndex entry_of(const Csr& graph, std::int64_t row, Vertex column);

/// Whether the row has an entry in this column.
bool has_entry(const Csr& graph, std::int64_t row, Vertex column);

/// Whether the folder has weights: edge_weights.npy, float32 [E], in the order of edges.npy.
bool has_edge_weights(const std::filesystem::path& folder);

/// The weights of a graph that was read from the folder: edges that come several times weigh as much as
/// all of them, and one that was added as the reverse of another (symmetrise) as much as that one.
///
/// Errors    DataError: not there, no finite number >= 0, not as many as edges
EdgeWeights read_edge_weights(const std::filesystem::path& folder, const Csr& graph);

/// Writes them as read_edge_weights() reads them: in the order of the edges that write_orrery() writes.
void write_edge_weights(const Csr& graph, const std::vector<float>& weights,
                        const std::filesystem::path& folder);

}  // namespace orrery
