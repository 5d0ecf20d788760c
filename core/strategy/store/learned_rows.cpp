#include "core/strategy/store/learned_rows.hpp"

#include <fmt/core.h>

#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/model/make_fit.hpp"

namespace orrery {
namespace {

Buffer loaded(Runtime& rt, const IndexList& list, std::string_view name) {
  Buffer buffer(rt, {list.size(), 1}, DType::i32, name);
  rt.submit(Lane::copy, Load{list.source(), buffer.tensor()});
  return buffer;
}

/// All elements as one row.
Tensor flat(const Tensor& rows) { return rows.reshaped({1, rows.shape.size()}); }

}  // namespace

LearnedRows::Batch::Batch(Runtime& rt, RowExchange exchange)
    : exchange_(std::move(exchange)),
      places_(loaded(rt, exchange_.places, "indices/rows brought")),
      order_(loaded(rt, exchange_.order, "indices/order of rows")),
      asked_(loaded(rt, exchange_.asked, "indices/rows asked for")),
      distinct_(loaded(rt, exchange_.distinct, "indices/rows learned")),
      into_(loaded(rt, exchange_.into, "indices/sums of rows")) {}

LearnedRows::LearnedRows(Runtime& rt, const VertexData& own, const RowOwners& owners,
                         std::int64_t width, double rate)
    : rt_(rt), owners_(owners), width_(width), rate_(rate), owned_(at(rt.size()), 0) {
  for (const std::int32_t owner : owners_.owner) ++owned_[at(owner)];
  const Shape shape{own.vertices(), width_};
  table_ = Buffer(rt, shape, DType::f32, "learned features/rows");
  first_moment_ = Buffer(rt, shape, DType::f32, "learned features/first moment");
  second_moment_ = Buffer(rt, shape, DType::f32, "learned features/second moment");
  rt_.submit(Lane::compute, Load{own.features(0), table_.tensor()});
  for (const Buffer* moment : {&first_moment_, &second_moment_})
    rt_.submit(Lane::compute, Fill{moment->tensor(), 0});
}

void LearnedRows::bring(const Batch& batch, const Tensor& features) {
  const RowExchange& of = batch.exchange_;
  make_fit(rt_, out_, {of.asked.size(), width_}, "learned features/sent");
  make_fit(rt_, in_, {of.brought(), width_}, "learned features/brought");
  const Tensor out = out_.view(of.asked.size(), width_), in = in_.view(of.brought(), width_);
  rt_.submit(Lane::compute, GatherRows{table_.tensor(), batch.asked_.tensor(), out});
  rt_.wait(Lane::comm, rt_.record(Lane::compute));
  rt_.submit(Lane::comm,
             AllToAllV{out, in, of.asked_rows, of.brought_rows, world_group(rt_.size())});
  rt_.wait(Lane::compute, rt_.record(Lane::comm));
  rt_.submit(Lane::compute, GatherRows{in, batch.places_.tensor(), features});
}

void LearnedRows::learn(const Batch& batch, const Tensor& gradient, int epoch, int step) {
  const RowExchange& of = batch.exchange_;
  const Tensor out = out_.view(of.asked.size(), width_), in = in_.view(of.brought(), width_);
  rt_.phase({Stage::synchronise, epoch});
  rt_.submit(Lane::compute, GatherRows{gradient, batch.order_.tensor(), in});
  rt_.wait(Lane::comm, rt_.record(Lane::compute));
  rt_.submit(Lane::comm,
             AllToAllV{in, out, of.brought_rows, of.asked_rows, world_group(rt_.size())});
  rt_.wait(Lane::compute, rt_.record(Lane::comm));

  rt_.phase({Stage::update, epoch});
  const std::int64_t n = of.distinct.size();
  const auto compact = [&](Buffer& buffer, std::string_view name) {
    make_fit(rt_, buffer, {n, width_}, name);
    return buffer.view(n, width_);
  };
  // Gradients of rows that are not learned add up in a row behind the others, which nobody reads.
  const std::int64_t sums = n + (of.has_others ? 1 : 0);
  make_fit(rt_, sum_, {sums, width_}, "learned features/sums of gradients");
  const Tensor all_sums = sum_.view(sums, width_), sum = all_sums.rows_at(0, n);
  const Tensor change = compact(change_, "learned features/changes");
  const Tensor first = compact(first_, "learned features/first moment of a step");
  const Tensor second = compact(second_, "learned features/second moment of a step");
  const Tensor distinct = batch.distinct_.tensor();
  rt_.submit(Lane::compute, Fill{all_sums, 0});
  rt_.submit(Lane::compute, ScatterAddRows{out, batch.into_.tensor(), all_sums});
  // The moments leave their tables, which hold exactly 0 there until they return.
  for (const auto& [table, rows] :
       {std::pair{first_moment_.tensor(), first}, std::pair{second_moment_.tensor(), second}}) {
    rt_.submit(Lane::compute, GatherRows{table, distinct, rows});
    rt_.submit(Lane::compute, Copy{rows, change, -1});
    rt_.submit(Lane::compute, ScatterAddRows{change, distinct, table});
  }
  // Starting from zero, Adam computes only the change, so the rows get what Adam would have made of
  // them.
  rt_.submit(Lane::compute, Fill{change, 0});
  Adam adam{flat(change), flat(sum), flat(first), flat(second)};
  adam.rate = static_cast<float>(rate_);
  adam.step = step;
  rt_.submit(Lane::compute, adam);
  rt_.submit(Lane::compute, ScatterAddRows{change, distinct, table_.tensor()});
  rt_.submit(Lane::compute, ScatterAddRows{first, distinct, first_moment_.tensor()});
  rt_.submit(Lane::compute, ScatterAddRows{second, distinct, second_moment_.tensor()});
}

void LearnedRows::copy_own(const IndexList& vertices, const Tensor& features) {
  auto numbers = std::make_shared<std::vector<Vertex>>();
  for (const Vertex v : *vertices.numbers()) {
    ORRERY_ASSERT(owners_.owner[at(v)] == rt_.rank() && "a row of another rank");
    numbers->push_back(owners_.number[at(v)]);
  }
  own_numbers_ = Buffer(rt_, {std::ssize(*numbers), 1}, DType::i32, "indices/own rows");
  rt_.submit(Lane::compute, Load{IndexArray{std::move(numbers)}, own_numbers_.tensor()});
  rt_.submit(Lane::compute, GatherRows{table_.tensor(), own_numbers_.tensor(), features});
}

std::vector<Buffer> LearnedRows::gather() {
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
  for (const Buffer* state : {&table_, &first_moment_, &second_moment_}) {
    rt_.wait(Lane::comm, rt_.record(Lane::compute));
    rt_.submit(Lane::comm, AllToAllV{state->tensor(), by_owner.tensor(), sent, received,
                                     world_group(rt_.size())});
    rt_.wait(Lane::compute, rt_.record(Lane::comm));
    if (!first) continue;
    gathered.emplace_back(rt_, Shape{1, all * width_}, DType::f32, "checkpoint/learned features");
    rt_.submit(Lane::compute,
               GatherRows{by_owner.tensor(), numbers.tensor(), gathered.back().view(all, width_)});
  }
  return gathered;
}

void LearnedRows::restore(const std::vector<std::vector<float>>& state, std::size_t first) {
  const std::array tables{&table_, &first_moment_, &second_moment_};
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
    rt_.submit(Lane::compute, Load{FloatArray{std::move(own)}, tables[i]->tensor()});
  }
}

}  // namespace orrery
