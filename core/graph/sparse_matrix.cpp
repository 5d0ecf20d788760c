#include "core/graph/sparse_matrix.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {
namespace {

/// Sorts the entries from `first` on by column.
void sort_entries(std::vector<Vertex>& columns, std::vector<float>& values, std::size_t first) {
  std::vector<std::pair<Vertex, float>> row;
  for (std::size_t e = first; e < columns.size(); ++e) row.emplace_back(columns[e], values[e]);
  std::sort(row.begin(), row.end());
  for (std::size_t i = 0; i < row.size(); ++i)
    std::tie(columns[first + i], values[first + i]) = row[i];
}

}  // namespace

std::int64_t SparseMatrix::rows() const {
  const auto* counts = std::get_if<Counts>(&pattern);
  return counts != nullptr ? counts->rows : csr().rows;
}

std::int64_t SparseMatrix::cols() const {
  const auto* counts = std::get_if<Counts>(&pattern);
  return counts != nullptr ? counts->cols : csr().cols;
}

std::int64_t SparseMatrix::nnz() const {
  const auto* counts = std::get_if<Counts>(&pattern);
  return counts != nullptr ? counts->nnz : csr().nnz();
}

const Csr& SparseMatrix::csr() const {
  if (std::holds_alternative<Counts>(pattern))
    throw NeedsStructure("a graph given by its statistics has no edges");
  return *std::get<std::shared_ptr<const Csr>>(pattern);
}

std::span<const float> SparseMatrix::row_values(std::int64_t r) const {
  return {values->data() + csr().offsets[at(r)], at(csr().degree(r))};
}

RowBuilder::RowBuilder(std::int64_t rows, std::int64_t cols, RowOrder order)
    : pattern_(std::make_shared<Csr>()),
      values_(std::make_shared<std::vector<float>>()),
      order_(order) {
  pattern_->rows = rows;
  pattern_->cols = cols;
  pattern_->offsets.reserve(at(rows) + 1);
}

void RowBuilder::add(Vertex column, float value) {
  pattern_->columns.push_back(column);
  values_->push_back(value);
}

void RowBuilder::end_row() {
  const auto first = pattern_->offsets.back();
  if (order_ == RowOrder::ascending &&
      !std::is_sorted(pattern_->columns.begin() + first, pattern_->columns.end()))
    sort_entries(pattern_->columns, *values_, at(first));
  pattern_->offsets.push_back(pattern_->nnz());
}

SparseMatrix RowBuilder::finish() {
  ORRERY_ASSERT(pattern_->offsets.size() == at(pattern_->rows) + 1);
  pattern_->columns.shrink_to_fit();  // matrices live long, up to half of their room would be spare
  values_->shrink_to_fit();
  return {std::shared_ptr<const Csr>(std::move(pattern_)), std::move(values_)};
}

SparseMatrix transpose(const SparseMatrix& a) {
  if (const auto* counts = std::get_if<Counts>(&a.pattern))
    return {Counts{counts->cols, counts->rows, counts->nnz, counts->skew}, nullptr, a.symmetric};
  auto pattern = std::make_shared<const Csr>(transpose(a.csr()));
  // Rows of A in ascending order meet each column of Aᵀ in ascending order: a cursor per row of Aᵀ
  // suffices.
  std::vector<EdgeIndex> next(pattern->offsets.begin(), pattern->offsets.end() - 1);
  std::vector<float> values(a.values->size());
  for (std::size_t e = 0; e < values.size(); ++e)
    values[at(next[at(a.csr().columns[e])]++)] = (*a.values)[e];
  return {std::move(pattern), std::make_shared<const std::vector<float>>(std::move(values)),
          a.symmetric};
}

SparseMatrix leading(const SparseMatrix& a, std::int64_t rows, std::int64_t cols) {
  if (rows == a.rows()) return a;
  const Csr& all = a.csr();
  auto pattern = std::make_shared<Csr>();
  pattern->rows = rows;
  pattern->cols = cols;
  pattern->offsets.assign(all.offsets.begin(), all.offsets.begin() + rows + 1);
  const EdgeIndex entries = pattern->offsets.back();
  pattern->columns.assign(all.columns.begin(), all.columns.begin() + entries);
  return {
      std::shared_ptr<const Csr>(std::move(pattern)),
      std::make_shared<const std::vector<float>>(a.values->begin(), a.values->begin() + entries)};
}

SparseMatrix magnified(const SparseMatrix& a, std::int64_t times) {
  Counts counts{a.rows(), a.cols(), a.nnz(), 1};
  if (const auto* known = std::get_if<Counts>(&a.pattern)) {
    counts.skew = known->skew;
  } else if (counts.nnz > 0) {
    std::int64_t longest = 0;
    for (std::int64_t r = 0; r < counts.rows; ++r) longest = std::max(longest, a.csr().degree(r));
    counts.skew = static_cast<double>(longest) * static_cast<double>(counts.rows) /
                  static_cast<double>(counts.nnz);
  }
  for (std::int64_t* count : {&counts.rows, &counts.cols, &counts.nnz}) *count *= times;
  return {counts, nullptr};
}

}  // namespace orrery
