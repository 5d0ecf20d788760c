#include "core/graph/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/base/rng.hpp"

namespace orrery {
namespace {

/// Rows of a block of a parallel loop.
constexpr std::int64_t kCountedRows = 1 << 12;

constexpr std::int64_t kWedges = 200'000;

DegreeStatistics degree_statistics(std::vector<std::int64_t> degrees) {
  DegreeStatistics s;
  if (degrees.empty()) return s;
  std::ranges::sort(degrees);
  const auto n = static_cast<double>(degrees.size());
  const auto percentile = [&](double p) { return degrees[at(p * (n - 1))]; };
  s.min = degrees.front();
  s.max = degrees.back();
  s.median = percentile(0.5);
  s.p90 = percentile(0.9);
  s.p99 = percentile(0.99);
  s.mean = std::accumulate(degrees.begin(), degrees.end(), 0.0) / n;
  double square = 0, cube = 0;
  for (const std::int64_t d : degrees) {
    const double distance = static_cast<double>(d) - s.mean;
    square += distance * distance / n;
    cube += distance * distance * distance / n;
  }
  s.skewness = square > 0 ? cube / std::pow(square, 1.5) : 0;
  return s;
}

/// Weakly connected components by union-find with path halving.
class Components {
 public:
  explicit Components(const Csr& graph) : parent_(at(graph.rows)) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (std::int64_t v = 0; v < graph.rows; ++v)
      for (const Vertex u : graph.row(v)) {
        const Vertex a = root(static_cast<Vertex>(v)), b = root(u);
        parent_[at(std::max(a, b))] = std::min(a, b);
      }
  }
  /// Number of components and size of the largest.
  std::pair<std::int64_t, std::int64_t> count_and_largest() {
    std::vector<std::int64_t> size(parent_.size());
    for (std::size_t v = 0; v < parent_.size(); ++v) ++size[at(root(static_cast<Vertex>(v)))];
    const auto largest = std::ranges::max_element(size);
    return {std::ssize(size) - std::ranges::count(size, 0), largest == size.end() ? 0 : *largest};
  }

 private:
  Vertex root(Vertex v) {
    while (parent_[at(v)] != v) v = parent_[at(v)] = parent_[at(parent_[at(v)])];
    return v;
  }
  std::vector<Vertex> parent_;
};

/// Share of `kWedges` random wedges that are closed. A self-loop is no arm of a wedge: such draws
/// are discarded, and the others stay equally likely.
void sample_clustering(const Csr& undirected, DatasetStatistics& s) {
  std::vector<double> wedges(at(undirected.rows) + 1);
  for (std::int64_t v = 0; v < undirected.rows; ++v) {
    const auto d = static_cast<double>(undirected.degree(v));
    wedges[at(v) + 1] = wedges[at(v)] + d * (d - 1) / 2;
  }
  if (wedges.back() == 0) return;
  std::int64_t closed = 0;
  Sequence random(0, Purpose::sampler, 0);
  for (std::int64_t i = 0; i < kWedges; ++i) {
    const double x = random.uniform() * wedges.back();
    const auto v = static_cast<Vertex>(std::ranges::upper_bound(wedges, x) - wedges.begin() - 1);
    const auto row = undirected.row(v);
    const std::uint64_t first = random.below(row.size());
    std::uint64_t second = random.below(row.size() - 1);
    second += second >= first;
    if (row[first] == v || row[second] == v) continue;
    ++s.sampled_wedges;
    closed += std::ranges::binary_search(undirected.row(row[first]), row[second]);
  }
  if (s.sampled_wedges > 0)
    s.clustering = static_cast<double>(closed) / static_cast<double>(s.sampled_wedges);
}

/// Sum over all rows of f(row), an integer; parallel and exact.
template <class F>
std::int64_t sum_rows(std::int64_t rows, const F& f) {
  std::vector<std::int64_t> partial(at((rows + kCountedRows - 1) / kCountedRows));
  parallel_for(rows, kCountedRows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v)
      partial[at(begin / kCountedRows)] += f(static_cast<Vertex>(v));
  });
  return std::accumulate(partial.begin(), partial.end(), std::int64_t{0});
}

void count_labels(const Dataset& dataset, DatasetStatistics& s) {
  const Labels& labels = dataset.labels;
  if (!labels.present()) return;
  s.label_counts.assign(at(labels.classes), 0);
  if (labels.multilabel) {
    for (std::size_t i = 0; i < labels.values.size(); ++i)
      s.label_counts[i % at(labels.classes)] += labels.values[i];
    return;
  }
  for (const std::int32_t label : labels.values)
    ++(label < 0 ? s.unlabelled : s.label_counts[at(label)]);

  const auto count_edges = [&](auto&& counts) {
    return sum_rows(dataset.vertices(), [&](Vertex v) {
      const std::int32_t mine = labels.values[at(v)];
      return mine < 0 ? 0 : std::ranges::count_if(dataset.graph->row(v), [&](Vertex u) {
        return u != v && labels.values[at(u)] >= 0 && counts(mine, labels.values[at(u)]);
      });
    });
  };
  const std::int64_t all = count_edges([](auto, auto) { return true; });
  if (all > 0)
    s.homophily = static_cast<double>(count_edges(std::equal_to{})) / static_cast<double>(all);
}

}  // namespace

DatasetStatistics dataset_statistics(const Dataset& dataset) {
  const Csr& graph = *dataset.graph;
  DatasetStatistics s;
  s.vertices = graph.rows;
  s.edges = graph.nnz();
  s.symmetric = is_symmetric(graph);
  const auto has_loop = [&](const Csr& g, Vertex v) {
    return std::ranges::binary_search(g.row(v), v);
  };
  s.self_loops = sum_rows(graph.rows, [&](Vertex v) { return std::int64_t{has_loop(graph, v)}; });

  const Csr symmetrised = s.symmetric ? Csr{} : symmetrise(graph);
  const Csr& undirected = s.symmetric ? graph : symmetrised;
  s.isolated = sum_rows(graph.rows, [&](Vertex v) {
    return std::int64_t{undirected.degree(v) == std::int64_t{has_loop(undirected, v)}};
  });
  std::tie(s.components, s.largest_component) = Components(graph).count_and_largest();
  sample_clustering(undirected, s);

  std::vector<std::int64_t> in(at(graph.rows)), out(at(graph.rows));
  for (std::int64_t v = 0; v < graph.rows; ++v) in[at(v)] = graph.degree(v);
  for (const Vertex u : graph.columns) ++out[at(u)];
  s.in_degree = degree_statistics(std::move(in));
  s.out_degree = degree_statistics(std::move(out));

  count_labels(dataset, s);
  for (const Split part : dataset.split)
    ++s.split_counts[std::min<std::size_t>(static_cast<std::size_t>(part), 3)];
  return s;
}

}  // namespace orrery
