#include "core/strategy/store/learned_own_rows.hpp"

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {

LearnedOwnRows::LearnedOwnRows(Runtime& rt, const RowOwners& owners, std::int64_t width,
                               double rate, const std::vector<bool>& learned)
    : LearnedTable(rt, owners, width, rate) {
  for (std::int64_t i = 0; i < std::ssize(learned); ++i) {
    if (!learned[at(i)]) continue;
    if (i == 0 || !learned[at(i - 1)]) runs_.push_back({i, 0});
    ++runs_.back().count;
  }
}

void LearnedOwnRows::begin_in(const Tensor& features, const VertexData& data) {
  ORRERY_ASSERT(rows_.shape.size() == 0 && "features that were learned would be lost");
  rows_ = features;
  rt_.submit(Lane::copy, Load{data.features(0), rows_});
}

void LearnedOwnRows::learn(const Tensor& gradient, int epoch, int step) {
  rt_.phase({Stage::update, epoch});
  for (const auto& [first, count] : runs_) {
    const auto of_run = [&](const Tensor& rows) { return rows.rows_at(first, count); };
    rt_.submit(Lane::compute, adam(of_run(rows_), of_run(gradient), of_run(first_moment_.tensor()),
                                   of_run(second_moment_.tensor()), step));
  }
}

}  // namespace orrery
