#include "core/graph/edges/later_numbers.hpp"

#include <functional>

#include "core/base/index.hpp"

namespace orrery {

Csr LaterNumbers::numbered(const Csr& block) const {
  std::call_once(found_, [this] {
    numbers_.reserve(vertices_->size());
    for (std::size_t i = 0; i < vertices_->size(); ++i)
      numbers_.emplace((*vertices_)[i], static_cast<Vertex>(i));
  });
  Csr made = block;
  for (Vertex& column : made.columns) column = numbers_.at(column);
  return made;
}

SparseMatrix transpose_later(const SparseMatrix& block,
                             std::shared_ptr<const LaterNumbers> numbers) {
  Counts counts{block.cols(), block.rows(), block.nnz()};
  counts.look = std::make_shared<const std::function<Csr()>>(
      [drawn = std::get<std::shared_ptr<const Csr>>(block.pattern), numbers = std::move(numbers)] {
        return transpose(numbers->numbered(*drawn));
      });
  return {std::move(counts), nullptr};
}

}  // namespace orrery
