#include "core/strategy/store/feature_store.hpp"

#include <algorithm>

namespace orrery {
namespace {

/// If the store lane still read it, it would stay beside the buffer that replaces it.
void give_back(Runtime& rt, Buffer& buffer) {
  if (buffer) rt.sync(rt.record(Lane::store));
  buffer = {};
}

}  // namespace

FeatureStore::FeatureStore(Runtime& rt, const OwnTable& own, const OwnedRows& keep,
                           std::optional<Room> room)
    : rt_(rt),
      store_{static_cast<std::uint16_t>(own.number), world_group(rt.size())},
      width_(own.width),
      type_(own.type),
      kept_(keep.numbers ? keep.count() : 0),
      room_(room),
      table_(rt, {own.rows, own.width}, own.type, own.name, Space::server_host) {
  rt.submit(Lane::store, Load{own.source, table_.tensor()});
  rt.submit(Lane::store, Expose{store_, table_.tensor()});
  if (kept_ == 0) return;
  make_room(room_ ? std::max(kept_, room_->first) : kept_, kept_, 0);
  fetch(keep, rows_.view(kept_, width_), std::nullopt);
}

/// Buffers that are too small are allocated anew; the first `held` rows move. If none do, the memory of
/// the old ones is given back first.
void FeatureStore::make_room(std::int64_t rows, std::int64_t pulled, std::int64_t held) {
  if (!numbers_ || numbers_.tensor().rows() < pulled) {
    give_back(rt_, numbers_);
    numbers_ = Buffer(rt_, {pulled, 1}, DType::i32, "store/row numbers", Space::pinned_host);
  }
  if (rows_ && rows_.tensor().rows() >= rows) return;
  if (room_) rows = std::max(rows, std::min(rows + rows / 4, room_->most));
  if (held == 0) rows_ = {};
  Buffer larger(rt_, {rows, width_}, type_, "store/rows", Space::pinned_host);
  if (rows_ && held > 0)
    rt_.submit(Lane::store, Copy{rows_.view(held, width_), larger.view(held, width_)});
  rows_ = std::move(larger);
}

void FeatureStore::fetch(const OwnedRows& rows, const Tensor& to, std::optional<Tensor> places) {
  const Tensor numbers = numbers_.view(rows.count(), 1);
  rt_.submit(Lane::store, Load{IndexArray{rows.numbers}, numbers});
  rt_.submit(Lane::store, Pull{store_, numbers, rows.rows_per_owner, to, places});
}

void FeatureStore::request(const OwnedRows& rows, const Tensor& numbers, const Tensor& to) {
  rt_.submit(Lane::store, Load{IndexArray{rows.numbers}, numbers});
  rt_.submit(Lane::store, Pull{store_, numbers, rows.rows_per_owner, to});
}

Buffer FeatureStore::pull(const WantedRows& rows, const Tensor& features) {
  const std::int64_t pulled = rows.pulled.count();
  rt_.wait(Lane::store, rt_.record(Lane::copy));  // the last rows have been taken out
  const std::int64_t there = rows_ ? rows_.tensor().rows() : 0;
  make_room(rows.room, pulled, rows.pulled_into ? there : kept_);
  const Tensor all = rows_.tensor().rows_at(0, rows.room);
  if (rows.pulled_into) {
    if (!into_ || into_.tensor().rows() < pulled) {
      give_back(rt_, into_);
      into_ = Buffer(rt_, {pulled, 1}, DType::i32, "store/places", Space::pinned_host);
    }
    const Tensor into = into_.view(pulled, 1);
    rt_.submit(Lane::store, Load{IndexArray{rows.pulled_into}, into});
    fetch(rows.pulled, all, into);
  } else {
    fetch(rows.pulled, all.rows_at(kept_, pulled), std::nullopt);
  }
  Buffer places(rt_, {features.rows(), 1}, DType::i32, "indices/rows pulled");
  rt_.submit(Lane::copy, Load{IndexArray{rows.places}, places.tensor()});
  rt_.wait(Lane::copy, rt_.record(Lane::store));
  rt_.submit(Lane::copy, GatherRows{all, places.tensor(), features});
  return places;
}

void FeatureStore::close() { rt_.submit(Lane::store, Withdraw{store_, table_.tensor()}); }

}  // namespace orrery
