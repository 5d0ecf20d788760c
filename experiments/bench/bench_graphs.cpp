#include "experiments/bench/bench_graphs.hpp"

#include <algorithm>
#include <cstdlib>

#include "core/graph/generate/generate.hpp"

namespace orrery {

std::int64_t bench_vertices() {
  const char* given = std::getenv("KERNEL_BENCH_VERTICES");
  return given == nullptr ? std::int64_t{1} << 20 : std::atoll(given);
}

std::shared_ptr<const Csr> bench_graph(const std::string& name) {
  static std::string kept_name;
  static std::shared_ptr<const Csr> kept;
  if (name != kept_name) {
    kept.reset();
    DatasetOptions options;
    options.generator = name == "rmat" ? "rmat" : "communities";
    options.generate_vertices = bench_vertices();
    options.generate_edges = 8 * options.generate_vertices;
    options.generate_features = 0;
    // One community of all vertices is the uniform random graph.
    options.generate_classes = name == "communities"
                                   ? std::max<std::int64_t>(1, options.generate_vertices / 1024)
                               : name == "uniform" ? 1
                                                   : 0;
    kept = generate(options).graph;
    kept_name = name;
  }
  return kept;
}

std::vector<std::shared_ptr<const Csr>> column_tiles(const Csr& a, std::int64_t tiles) {
  std::vector<std::shared_ptr<const Csr>> parts;
  for (std::int64_t t = 0; t < tiles; ++t) {
    const auto first = static_cast<Vertex>(t * a.cols / tiles);
    const auto end = static_cast<Vertex>((t + 1) * a.cols / tiles);
    auto part = std::make_shared<Csr>();
    part->rows = a.rows;
    part->cols = end - first;
    for (std::int64_t r = 0; r < a.rows; ++r) {
      const auto row = a.row(r);
      auto from = std::lower_bound(row.begin(), row.end(), first);
      for (; from != row.end() && *from < end; ++from) part->columns.push_back(*from - first);
      part->offsets.push_back(part->nnz());
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace orrery
