#include "core/graph/reorder.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/base/units.hpp"

namespace orrery {
namespace {

/// Rows of a block of a parallel loop.
constexpr std::int64_t kReorderedRows = 1 << 12;

constexpr int kRounds = 5;

std::vector<Vertex> identity(std::int64_t n) {
  std::vector<Vertex> order(at(n));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<Vertex> degree_order(const Csr& graph) {
  std::vector<Vertex> order = identity(graph.rows);
  std::ranges::stable_sort(order, std::greater{}, [&](Vertex v) { return graph.degree(v); });
  return order;
}

std::vector<Vertex> bfs_order(const Csr& graph) {
  std::vector<Vertex> order;  // also the queue
  order.reserve(at(graph.rows));
  std::vector<bool> reached(at(graph.rows));
  const auto reach = [&](Vertex v) {
    if (reached[at(v)]) return;
    reached[at(v)] = true;
    order.push_back(v);
  };
  std::size_t next = 0;
  for (std::int64_t start = 0; start < graph.rows; ++start) {
    reach(static_cast<Vertex>(start));
    for (; next < order.size(); ++next)
      for (const Vertex u : graph.row(order[next])) reach(u);
  }
  return order;
}

/// Label propagation: every vertex in turn joins the group of most of its neighbours, as long as
/// that group has room. The group of each vertex, numbered by one of its vertices.
std::vector<Vertex> groups_of(const Csr& graph) {
  std::vector<Vertex> group = identity(graph.rows);
  std::vector<std::int64_t> size(at(graph.rows), 1), votes(at(graph.rows), 0);
  const std::int64_t room = std::max<std::int64_t>(2, graph.rows / 8);
  for (int round = 0; round < kRounds; ++round) {
    std::int64_t moved = 0;
    for (std::int64_t v = 0; v < graph.rows; ++v) {
      const Vertex mine = group[at(v)];
      for (const Vertex u : graph.row(v)) ++votes[at(group[at(u)])];
      Vertex best = mine;
      for (const Vertex u : graph.row(v)) {
        const Vertex g = group[at(u)];
        const bool better = votes[at(g)] > votes[at(best)] ||
                            (votes[at(g)] == votes[at(best)] && best != mine && g < best);
        if (better && size[at(g)] < room) best = g;
      }
      for (const Vertex u : graph.row(v)) votes[at(group[at(u)])] = 0;
      if (best == mine) continue;
      --size[at(mine)];
      ++size[at(best)];
      group[at(v)] = best;
      ++moved;
    }
    if (moved <= graph.rows / 1000) break;
  }
  return group;
}

std::vector<Vertex> community_order(const Csr& graph) {
  const std::vector<Vertex> group = groups_of(graph);
  std::vector<Vertex> order = bfs_order(graph);
  std::vector<std::int64_t> first(at(graph.rows), -1);  // position of a group's first vertex
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto& mine = first[at(group[at(order[i])])];
    if (mine < 0) mine = static_cast<std::int64_t>(i);
  }
  std::ranges::stable_sort(order, {}, [&](Vertex v) { return first[at(group[at(v)])]; });
  return order;
}

template <class T>
void permute_rows(std::vector<T>& values, std::int64_t columns, const std::vector<Vertex>& old_id) {
  if (values.empty()) return;
  std::vector<T> out(values.size());
  for (std::size_t v = 0; v < old_id.size(); ++v)
    std::copy_n(values.begin() + old_id[v] * columns, columns,
                out.begin() + static_cast<std::int64_t>(v) * columns);
  values = std::move(out);
}

}  // namespace

std::vector<Vertex> vertex_order(const Csr& graph, const std::string& method) {
  if (method == "degree") return degree_order(graph);
  if (method == "bfs") return bfs_order(graph);
  if (method == "communities") return community_order(graph);
  throw ConfigError("dataset.reorder",
                    fmt::format("expected none, degree, bfs or communities, found '{}'", method));
}

Csr permute(const Csr& graph, const std::vector<Vertex>& old_id) {
  ORRERY_ASSERT(graph.rows == graph.cols && std::ssize(old_id) == graph.rows);
  std::vector<Vertex> new_id(old_id.size());
  for (std::size_t v = 0; v < old_id.size(); ++v) new_id[at(old_id[v])] = static_cast<Vertex>(v);
  Csr out;
  out.rows = out.cols = graph.rows;
  out.offsets.assign(at(graph.rows) + 1, 0);
  for (std::int64_t v = 0; v < graph.rows; ++v)
    out.offsets[at(v) + 1] = out.offsets[at(v)] + graph.degree(old_id[at(v)]);
  out.columns.resize(graph.columns.size());
  parallel_for(graph.rows, kReorderedRows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) {
      const auto row = out.columns.begin() + out.offsets[at(v)];
      std::ranges::transform(graph.row(old_id[at(v)]), row,
                             [&](Vertex u) { return new_id[at(u)]; });
      std::sort(row, out.columns.begin() + out.offsets[at(v) + 1]);
    }
  });
  return out;
}

void reorder(Dataset& dataset, const std::string& method) {
  if (method == "none") return;
  const auto start = std::chrono::steady_clock::now();
  std::vector<Vertex> old_id = vertex_order(*dataset.graph, method);
  dataset.graph = std::make_shared<Csr>(permute(*dataset.graph, old_id));
  permute_rows(dataset.labels.values, dataset.labels.columns(), old_id);
  permute_rows(dataset.split, 1, old_id);
  if (dataset.features) dataset.features = permuted(dataset.features, std::move(old_id));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  dataset.notes.push_back(fmt::format("vertices renumbered for locality ({}) in {}", method,
                                      human_seconds(elapsed.count())));
}

}  // namespace orrery
