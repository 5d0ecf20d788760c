#include "core/graph/reuse.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "core/base/index.hpp"

namespace orrery {
namespace {

constexpr double kEuler = 0.57721566490153286;
constexpr std::int64_t kEdgesToFollow = std::int64_t{1} << 18;

/// The number of an edge by a column's group, -1 if there was none.
class LastUses {
 public:
  /// `columns`: their number; `largest`: the largest name of one.
  LastUses(std::int64_t columns, std::int64_t largest, std::uint64_t among) {
    if (largest < columns) list_.assign(static_cast<std::size_t>(columns) / among + 1, -1);
  }
  std::int64_t& of(std::uint64_t group) {
    return list_.empty() ? some_.try_emplace(group, -1).first->second : list_[group];
  }

 private:
  std::vector<std::int64_t> list_;
  std::unordered_map<std::uint64_t, std::int64_t> some_;  ///< of few names among many
};

/// The one of every `among` columns that is followed.
std::uint64_t chosen(std::uint64_t group, std::uint64_t among) {
  return (group * 0x9E3779B97F4A7C15ULL >> 32U) % among;
}

}  // namespace

double column_reuse(const Csr& a) {
  if (a.nnz() == 0 || a.cols == 0) return 1;
  const auto among =
      static_cast<std::uint64_t>(std::max<std::int64_t>(1, a.nnz() / kEdgesToFollow));
  const double first_use = std::log(static_cast<double>(a.cols)) - kEuler;
  LastUses last_uses(a.cols, *std::max_element(a.columns.begin(), a.columns.end()), among);
  double sum = 0;
  std::int64_t followed = 0;
  for (std::int64_t e = 0; e < a.nnz(); ++e) {
    const auto column = static_cast<std::uint64_t>(a.columns[at(e)]);
    const std::uint64_t group = column / among;
    if (column % among != chosen(group, among)) continue;
    std::int64_t& last = last_uses.of(group);
    sum += last < 0 ? first_use : std::log(static_cast<double>(e - last));
    last = e;
    ++followed;
  }
  if (followed == 0) return 1;
  const double typical = std::exp(sum / static_cast<double>(followed) + kEuler);
  return std::min(1.0, typical / static_cast<double>(a.cols));
}

}  // namespace orrery
