#include "core/graph/reuse.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/index.hpp"

namespace orrery {
namespace {

constexpr double kEuler = 0.57721566490153286;
constexpr std::int64_t kEdgesToFollow = std::int64_t{1} << 18;

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
  const auto largest =
      std::max<std::int64_t>(a.cols, *std::max_element(a.columns.begin(), a.columns.end()));
  std::vector<std::int64_t> last_use(static_cast<std::size_t>(largest) / among + 1, -1);
  double sum = 0;
  std::int64_t followed = 0;
  for (std::int64_t e = 0; e < a.nnz(); ++e) {
    const auto column = static_cast<std::uint64_t>(a.columns[at(e)]);
    const std::uint64_t group = column / among;
    if (column % among != chosen(group, among)) continue;
    std::int64_t& last = last_use[group];
    sum += last < 0 ? first_use : std::log(static_cast<double>(e - last));
    last = e;
    ++followed;
  }
  if (followed == 0) return 1;
  const double typical = std::exp(sum / static_cast<double>(followed) + kEuler);
  return std::min(1.0, typical / static_cast<double>(a.cols));
}

}  // namespace orrery
