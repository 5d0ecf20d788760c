// Weights of edges, which lie beside a data set and are used where they are asked for.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "core/graph/edges/edge_values.hpp"

namespace orrery {

/// Finite and >= 0.
using EdgeWeights = std::shared_ptr<const EdgeValues<float>>;

/// Whether the folder has weights: edge_weights.npy, float32 [E], in the order of edges.npy.
bool has_edge_weights(const std::filesystem::path& folder);

/// The weights of the edges of a data set that was read from the folder: edges that come several times weigh as
/// much as all of them, and one that was added as the reverse of another (symmetrise) as much as that one. In a
/// typed graph both hold within a relation and its reverse, and for an edge of the graph over all relations.
///
/// Errors    DataError: not there, no finite number >= 0, not as many as edges
EdgeWeights read_edge_weights(const std::filesystem::path& folder, const Dataset& dataset);

/// The weights of the entries that are no self-loops, in their order.
std::vector<float> without_self_loops(const EntryValues<float>& weights);

/// The weight of each vertex's self-loop: what the graph has stored, or 1 for one that is added (as
/// add_remaining_self_loops of PyTorch Geometric).
///
/// Shapes    weights: one for each entry of the graph
std::vector<float> loop_weights(const Csr& graph, std::span<const float> weights);

/// Writes them as read_edge_weights() reads them: in the order of the edges that write_orrery() writes.
void write_edge_weights(const EdgeValues<float>& weights, const std::filesystem::path& folder);

}  // namespace orrery
