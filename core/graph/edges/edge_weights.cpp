#include "core/graph/edges/edge_weights.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"

namespace orrery {

namespace fs = std::filesystem;

bool has_edge_weights(const fs::path& folder) { return fs::exists(folder / "edge_weights.npy"); }

EdgeWeights read_edge_weights(const fs::path& folder, const Dataset& dataset) {
  const EdgesOfFolder edges(folder, dataset);
  const NpyArray array(folder / "edge_weights.npy");
  const auto given = array.values<float>({edges.count()});
  for (std::size_t e = 0; e < given.size(); ++e)
    if (!std::isfinite(given[e]) || given[e] < 0)
      throw DataError(array.path(), fmt::format("element {}", e),
                      fmt::format("expected a finite number >= 0, found {}", given[e]));
  constexpr float kNone = -1;
  auto weights = edges.collect<float>(
      kNone, [&](float& weight, std::size_t e) { weight = std::max(0.0F, weight) + given[e]; });
  return std::make_shared<const EdgeValues<float>>(std::move(weights));
}

std::vector<float> without_self_loops(const EntryValues<float>& weights) {
  const Csr& graph = *weights.graph;
  std::vector<float> left;
  left.reserve(weights.values.size());
  for (std::int64_t v = 0; v < graph.rows; ++v)
    for (EdgeIndex e = graph.offsets[at(v)]; e < graph.offsets[at(v) + 1]; ++e)
      if (graph.columns[at(e)] != v) left.push_back(weights.values[at(e)]);
  return left;
}

std::vector<float> loop_weights(const Csr& graph, std::span<const float> weights) {
  std::vector<float> loops(at(graph.rows), 1);
  for (std::int64_t v = 0; v < graph.rows; ++v)
    if (const EdgeIndex e = entry_of(graph, v, static_cast<Vertex>(v)); e >= 0)
      loops[at(v)] = weights[at(e)];
  return loops;
}

void write_edge_weights(const EdgeValues<float>& weights, const fs::path& folder) {
  const std::vector<float> ordered = in_written_order(weights);
  auto file = NpyWriter::create<float>(folder / "edge_weights.npy", {std::ssize(ordered)});
  file.append<float>(ordered);
  file.close();
}

}  // namespace orrery
