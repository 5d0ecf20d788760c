#include "core/strategy/store/learned_rows.hpp"

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
    : LearnedTable(rt, owners, width, rate) {
  table_ = Buffer(rt, {own.vertices(), width_}, DType::f32, "learned features/rows");
  rows_ = table_.tensor();
  rt_.submit(Lane::compute, Load{own.features(0), rows_});
}

void LearnedRows::bring(const Batch& batch, const Tensor& features) {
  const RowExchange& of = batch.exchange_;
  make_fit(rt_, out_, {of.asked.size(), width_}, "learned features/sent");
  make_fit(rt_, in_, {of.brought(), width_}, "learned features/brought");
  const Tensor out = out_.view(of.asked.size(), width_), in = in_.view(of.brought(), width_);
  rt_.submit(Lane::compute, GatherRows{rows_, batch.asked_.tensor(), out});
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
  rt_.submit(Lane::compute, adam(change, sum, first, second, step));
  rt_.submit(Lane::compute, ScatterAddRows{change, distinct, rows_});
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
  rt_.submit(Lane::compute, GatherRows{rows_, own_numbers_.tensor(), features});
}

}  // namespace orrery
