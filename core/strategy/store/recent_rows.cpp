#include "core/strategy/store/recent_rows.hpp"

#include <algorithm>
#include <utility>

#include "core/base/index.hpp"

namespace orrery {

WantedRows RecentRows::want(const std::vector<Vertex>& vertices) {
  std::vector<Vertex> foreign;
  for (const Vertex v : vertices)
    if (owners_.owner_of(v) != rank_) foreign.push_back(v);
  const RowCache::Answer answer = cache_.ask(foreign);

  const auto hits = std::count_if(answer.from.begin(), answer.from.end(),
                                  [](std::int32_t slot) { return slot != RowCache::kNone; });
  const std::int64_t pulled = std::ssize(vertices) - hits;
  for (const std::int64_t needed = cache_.slots() + pulled; room_ < needed; ++room_)
    free_.push_back(static_cast<Vertex>(room_));

  auto places = std::make_shared<std::vector<Vertex>>(vertices.size());
  std::vector<Vertex> leaving;  // places whose row is not kept after this batch
  std::vector<std::pair<std::int32_t, Vertex>> filled;  // slots, and the places of their rows
  std::vector<std::vector<std::size_t>> of_owner(at(owners_.ranks));  // requests to each rank
  for (std::size_t i = 0, f = 0; i < vertices.size(); ++i) {
    const bool own = owners_.owner_of(vertices[i]) == rank_;
    if (!own && answer.from[f] != RowCache::kNone) {
      (*places)[i] = place_[at(answer.from[f++])];
      continue;
    }
    const Vertex place = (*places)[i] = free_.back();
    free_.pop_back();
    of_owner[at(owners_.owner_of(vertices[i]))].push_back(i);
    const std::int32_t slot = own ? RowCache::kNone : answer.into[f++];
    if (slot == RowCache::kNone) {
      leaving.push_back(place);
      continue;
    }
    filled.emplace_back(slot, place);
  }
  // This must not come earlier: a row that this batch displaces may also be one that it reads.
  for (const auto& [slot, place] : filled) {
    if (place_[at(slot)] != kNone) leaving.push_back(place_[at(slot)]);
    place_[at(slot)] = place;
  }
  free_.insert(free_.end(), leaving.begin(), leaving.end());

  auto counts = std::make_shared<std::vector<std::int64_t>>();
  auto numbers = std::make_shared<std::vector<Vertex>>();
  auto into = std::make_shared<std::vector<Vertex>>();
  for (const auto& asked : of_owner) {
    counts->push_back(std::ssize(asked));
    for (const std::size_t i : asked) {
      numbers->push_back(owners_.number_of(vertices[i]));
      into->push_back((*places)[i]);
    }
  }
  WantedRows rows;
  rows.pulled = {std::move(numbers), std::move(counts)};
  rows.pulled_into = std::move(into);
  rows.places = std::move(places);
  rows.room = room_;
  rows.foreign = std::ssize(foreign);
  rows.kept = hits;
  return rows;
}

}  // namespace orrery
