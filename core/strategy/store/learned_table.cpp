#include "core/strategy/store/learned_table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {
namespace {

/// All elements as one row.
Tensor flat(const Tensor& rows) { return rows.reshaped({1, rows.shape.size()}); }

}  // namespace

LearnedTable::LearnedTable(Runtime& rt, const RowOwners& owners, std::int64_t width, double rate)
    : rt_(rt), owners_(owners), width_(width), rate_(rate), owned_(at(rt.size()), 0) {
  for (const std::int32_t owner : owners_.owner) ++owned_[at(owner)];
  const Shape shape{owned_[at(rt.rank())], width_};
  first_moment_ = Buffer(rt, shape, DType::f32, "learned features/first moment");
  second_moment_ = Buffer(rt, shape, DType::f32, "learned features/second moment");
  for (const Buffer* moment : {&first_moment_, &second_moment_})
    rt_.submit(Lane::compute, Fill{moment->tensor(), 0});
}

Adam LearnedTable::adam(const Tensor& rows, const Tensor& gradient, const Tensor& first,
                        const Tensor& second, int step) const {
  Adam adam{flat(rows), flat(gradient), flat(first), flat(second)};
  adam.rate = static_cast<float>(rate_);
  adam.step = step;
  return adam;
}

std::vector<Buffer> LearnedTable::gather() {
  const bool first = rt_.rank() == 0;
  const std::int64_t all = first ? vertices() : 0;
  auto sent = std::make_shared<std::vector<std::int64_t>>(owned_.size(), 0);
  sent->front() = owned_[at(rt_.rank())];
  auto received = std::make_shared<std::vector<std::int64_t>>(owned_.size(), 0);
  if (first) *received = owned_;
  std::vector<std::int64_t> begin(owned_.size(), 0);
  for (std::size_t r = 1; r < owned_.size(); ++r) begin[r] = begin[r - 1] + owned_[r - 1];
  auto places = std::make_shared<std::vector<Vertex>>();
  for (std::size_t v = 0; v < at(all); ++v)
    places->push_back(static_cast<Vertex>(begin[at(owners_.owner[v])] + owners_.number[v]));

  Buffer by_owner(rt_, {all, width_}, DType::f32, "checkpoint/rows by owner");
  Buffer numbers(rt_, {all, 1}, DType::i32, "checkpoint/order of rows");
  rt_.submit(Lane::compute, Load{IndexArray{std::move(places)}, numbers.tensor()});
  std::vector<Buffer> gathered;
  for (const Tensor& state : {rows_, first_moment_.tensor(), second_moment_.tensor()}) {
    rt_.wait(Lane::comm, rt_.record(Lane::compute));
    rt_.submit(Lane::comm,
               AllToAllV{state, by_owner.tensor(), sent, received, world_group(rt_.size())});
    rt_.wait(Lane::compute, rt_.record(Lane::comm));
    if (!first) continue;
    gathered.emplace_back(rt_, Shape{1, all * width_}, DType::f32, "checkpoint/learned features");
    rt_.submit(Lane::compute,
               GatherRows{by_owner.tensor(), numbers.tensor(), gathered.back().view(all, width_)});
  }
  return gathered;
}

void LearnedTable::restore(const std::vector<std::vector<float>>& state, std::size_t first) {
  const std::array tables{rows_, first_moment_.tensor(), second_moment_.tensor()};
  for (std::size_t i = 0; i < kStates; ++i) {
    const std::vector<float>& all = state[first + i];
    if (std::ssize(all) != vertices() * width_)
      throw ConfigError("", fmt::format("the checkpoint holds {} numbers of learned features, but "
                                        "there are {} vertices with {} each",
                                        all.size(), vertices(), width_));
    auto own = std::make_shared<std::vector<float>>();
    own->resize(at(owned_[at(rt_.rank())] * width_));
    for (std::size_t v = 0; v < owners_.owner.size(); ++v)
      if (owners_.owner[v] == rt_.rank())
        std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(v) * width_, width_,
                    own->begin() + owners_.number[v] * width_);
    rt_.submit(Lane::compute, Load{FloatArray{std::move(own)}, tables[i]});
  }
}

}  // namespace orrery
