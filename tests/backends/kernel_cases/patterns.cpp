#include "tests/backends/kernel_cases/patterns.hpp"

#include <algorithm>

namespace orrery::testing {

Csr random_pattern(Sequence& draw, std::int64_t rows, std::int64_t cols, std::int64_t longest) {
  Csr a{rows, cols, {0}, {}};
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t wanted = r == rows / 2 ? longest : r % 3 == 0 ? 0 : 5;
    for (std::int64_t c = 0; c < cols; ++c)
      if (draw.below(static_cast<std::uint64_t>(cols)) < static_cast<std::uint64_t>(wanted))
        a.columns.push_back(static_cast<Vertex>(c));
    a.offsets.push_back(a.nnz());
  }
  return a;
}

Csr pattern_of_lengths(const std::vector<std::int64_t>& lengths, std::int64_t cols) {
  Csr a{static_cast<std::int64_t>(lengths.size()), cols, {0}, {}};
  for (const std::int64_t length : lengths) {
    for (std::int64_t e = 0; e < length; ++e)
      a.columns.push_back(static_cast<Vertex>(e * cols / length));
    a.offsets.push_back(a.nnz());
  }
  return a;
}

Csr rmat_pattern(Sequence& draw, std::int64_t entries) {
  std::vector<std::pair<Vertex, Vertex>> edges;
  for (std::int64_t e = 0; e < entries; ++e) {
    Vertex row = 0, col = 0;
    for (int bit = 0; bit < 10; ++bit) {
      const double u = draw.uniform();
      row = 2 * row + (u >= 0.76 ? 1 : 0);
      col = 2 * col + ((u >= 0.57 && u < 0.76) || u >= 0.95 ? 1 : 0);
    }
    edges.emplace_back(row, col);
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  Csr a{1 << 10, 1 << 10, {0}, {}};
  for (const auto& [row, col] : edges) {
    while (static_cast<std::int64_t>(a.offsets.size()) <= row) a.offsets.push_back(a.nnz());
    a.columns.push_back(col);
  }
  while (static_cast<std::int64_t>(a.offsets.size()) <= a.rows) a.offsets.push_back(a.nnz());
  return a;
}

SpMM product_of(World& w, Csr pattern, const ProductForm& form) {
  const auto [width, valued, beta, gap, heads] = form;
  const std::int64_t rows = pattern.rows, cols = pattern.cols;
  std::optional<Tensor> values;
  if (valued) values = w.floats(pattern.nnz(), heads);
  const Tensor x = w.floats(cols, width, width + gap);
  const Tensor y = w.result(beta != 0, rows, width, width + 2 * gap);
  return {w.sparse(std::move(pattern)), values, x, y, beta};
}

}  // namespace orrery::testing
