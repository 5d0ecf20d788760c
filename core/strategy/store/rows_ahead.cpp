#include "core/strategy/store/rows_ahead.hpp"

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {
namespace {

/// The number of the table of kept rows among the stores of a program.
constexpr std::uint16_t kKeptRows = 0x100;

}  // namespace

RowsAhead::RowsAhead(Runtime& rt, FeatureStore& store, int ahead, std::int64_t most)
    : rt_(rt),
      store_(store),
      kept_store_{kKeptRows, {0, rt.rank(), 1, 1}},
      most_(most),
      slots_(at(ahead) + 1) {
  ORRERY_ASSERT(ahead >= 1);
  if (store_.kept() == 0) return;
  rt_.submit(Lane::store, Expose{kept_store_, store_.kept_rows()});
  kept_numbers_ =
      Buffer(rt, {store_.kept(), 1}, DType::i32, "store/numbers of kept rows", Space::pinned_host);
}

void RowsAhead::fetch(const WantedRows& rows, bool counted) {
  const std::size_t number = std::exchange(next_, (next_ + 1) % slots_.size());
  Slot& slot = slots_[number];
  const InSlot in = store_.kept() > 0 && !counted ? in_slot(rows) : InSlot{rows.places, nullptr};
  const std::int64_t pulled = rows.pulled.count(), kept = in.kept ? std::ssize(*in.kept) : 0;
  make_room(slot, pulled + kept);
  rt_.wait(Lane::store, slot.taken);
  store_.request(rows.pulled, numbers_for(pulled), slot.rows.view(pulled, store_.width()));
  if (kept > 0) {
    const Tensor numbers = kept_numbers_.view(kept, 1);
    const Tensor all = slot.rows.view(pulled + kept, store_.width());
    rt_.submit(Lane::store, Load{IndexArray{in.kept}, numbers});
    rt_.submit(Lane::store, Pull{kept_store_, numbers,
                                 std::make_shared<const std::vector<std::int64_t>>(1, kept),
                                 all.rows_at(pulled, kept)});
  }
  fetched_.push_back({number, pulled + kept, in.places, rt_.record(Lane::store)});
}

/// In WantedRows all kept rows stand before the others; here the kept rows of the batch stand after
/// them.
RowsAhead::InSlot RowsAhead::in_slot(const WantedRows& rows) const {
  const auto first = static_cast<Vertex>(store_.kept());
  const auto pulled = static_cast<Vertex>(rows.pulled.count());
  auto places = std::make_shared<std::vector<Vertex>>();
  auto kept = std::make_shared<std::vector<Vertex>>();
  places->reserve(rows.places->size());
  kept->reserve(at(rows.kept));
  for (const Vertex place : *rows.places) {
    if (place >= first) {
      places->push_back(place - first);
      continue;
    }
    places->push_back(pulled + static_cast<Vertex>(kept->size()));
    kept->push_back(place);
  }
  return {std::move(places), std::move(kept)};
}

/// A buffer that is too small is freed before the larger one is allocated.
void RowsAhead::make_room(Slot& slot, std::int64_t rows) {
  if (slot.rows && slot.rows.tensor().rows() >= rows) return;
  if (slot.rows) {
    rt_.sync(slot.taken);
    slot.rows = Buffer();
  }
  ORRERY_ASSERT(rows <= most_ && "a batch is larger than its bound");
  slot.rows = Buffer(rt_, {std::min(rows + rows / 4, most_), store_.width()}, store_.type(),
                     "store/rows fetched", Space::pinned_host);
}

/// One array for all batches: requests are served one after the other.
Tensor RowsAhead::numbers_for(std::int64_t rows) {
  if (!numbers_ || numbers_.tensor().rows() < rows) {
    if (numbers_) {
      rt_.sync(rt_.record(Lane::store));
      numbers_ = Buffer();
    }
    numbers_ = Buffer(rt_, {std::min(rows + rows / 4, most_), 1}, DType::i32, "store/row numbers",
                      Space::pinned_host);
  }
  return numbers_.view(rows, 1);
}

Buffer RowsAhead::take(const Tensor& features) {
  ORRERY_ASSERT(!fetched_.empty());
  const Fetched first = std::move(fetched_.front());
  fetched_.pop_front();
  Slot& slot = slots_[first.slot];
  Buffer places(rt_, {features.rows(), 1}, DType::i32, "indices/rows pulled");
  rt_.submit(Lane::copy, Load{IndexArray{first.places}, places.tensor()});
  rt_.wait(Lane::copy, first.there);
  rt_.submit(Lane::copy,
             GatherRows{slot.rows.view(first.rows, store_.width()), places.tensor(), features});
  slot.taken = rt_.record(Lane::copy);
  return places;
}

void RowsAhead::close() {
  if (store_.kept() > 0) rt_.submit(Lane::store, Withdraw{kept_store_, store_.kept_rows()});
}

}  // namespace orrery
