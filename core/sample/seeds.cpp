#include "core/sample/seeds.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <numeric>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/rng.hpp"

namespace orrery {
namespace {

/// The steps of these draws in the purpose `sampler`; draws of rows have lower steps.
constexpr std::uint32_t kOrder = 0xFFFFFFFFU, kMoves = 0xFFFFFFFEU;

/// The vertices in an order that depends only on (key, vertex).
std::vector<Vertex> shuffled(std::vector<Vertex> vertices, std::uint64_t key) {
  std::vector<std::pair<std::uint64_t, Vertex>> keyed;
  keyed.reserve(vertices.size());
  for (const Vertex v : vertices)
    keyed.emplace_back(derived_seed(key, Purpose::sampler, static_cast<std::uint32_t>(v)), v);
  std::sort(keyed.begin(), keyed.end());
  std::transform(keyed.begin(), keyed.end(), vertices.begin(),
                 [](const auto& entry) { return entry.second; });
  return vertices;
}

std::int64_t size_of(const std::vector<Vertex>& list) {
  return static_cast<std::int64_t>(list.size());
}

/// How many each of several shares of a total gets.
std::int64_t share(std::int64_t total, std::int64_t shares, std::int64_t index) {
  return total / shares + (index < total % shares ? 1 : 0);
}

/// Final number of training vertices of each rank. The remainder goes to the servers with most, and
/// there to the ranks with most, because less moves then.
std::vector<std::int64_t> goals(const std::vector<std::vector<Vertex>>& training,
                                std::size_t width) {
  std::int64_t total = 0;
  std::vector<std::int64_t> of_server(training.size() / width);
  for (std::size_t r = 0; r < training.size(); ++r) {
    total += size_of(training[r]);
    of_server[r / width] += size_of(training[r]);
  }
  const auto ranks = static_cast<std::int64_t>(training.size());
  std::vector<std::size_t> by_size(training.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(of_server[a / width], training[a].size()) >
           std::pair(of_server[b / width], training[b].size());
  });
  std::vector<std::int64_t> goal(training.size());
  for (std::size_t place = 0; place < by_size.size(); ++place)
    goal[by_size[place]] = share(total, ranks, static_cast<std::int64_t>(place));
  return goal;
}

}  // namespace

std::vector<std::vector<Vertex>> share_equally(std::vector<std::vector<Vertex>> training,
                                               int ranks_per_server, std::uint64_t seed) {
  ORRERY_ASSERT(ranks_per_server >= 1 && training.size() % at(ranks_per_server) == 0);
  const std::size_t width = at(ranks_per_server);
  const auto goal = goals(training, width);
  std::vector<std::vector<Vertex>> surplus(training.size());
  for (std::size_t r = 0; r < training.size(); ++r) {
    if (size_of(training[r]) <= goal[r]) continue;
    training[r] = shuffled(std::move(training[r]), derived_seed(seed, Purpose::sampler, kMoves));
    surplus[r].assign(training[r].begin() + goal[r], training[r].end());
    training[r].resize(at(goal[r]));
  }
  const auto fill = [&](std::size_t r, std::size_t from, std::size_t end) {
    for (std::size_t other = from; other < end; ++other)
      while (size_of(training[r]) < goal[r] && !surplus[other].empty()) {
        training[r].push_back(surplus[other].back());
        surplus[other].pop_back();
      }
  };
  for (std::size_t r = 0; r < training.size(); ++r)
    fill(r, r / width * width, (r / width + 1) * width);
  for (std::size_t r = 0; r < training.size(); ++r) fill(r, 0, training.size());
  for (auto& list : training) std::sort(list.begin(), list.end());
  return training;
}

/// The orders of two epochs for each list: that of the steps that train, and that of those drawn
/// ahead.
struct Seeds::Kept {
  struct Order {
    int epoch = -1;
    std::shared_ptr<const std::vector<Vertex>> vertices;
  };
  std::mutex mutex;
  std::vector<std::array<Order, 2>> of_list;
};

Seeds::Seeds(std::vector<std::vector<Vertex>> lists, int ranks_per_list, std::int64_t batch,
             std::uint64_t seed)
    : lists_(std::move(lists)),
      ranks_per_list_(ranks_per_list),
      batch_(batch),
      seed_(seed),
      kept_(std::make_shared<Kept>()) {
  ORRERY_ASSERT(batch >= 1 && ranks_per_list >= 1);
  steps_ = static_cast<int>((longest_list() + batch - 1) / batch);
  kept_->of_list.resize(lists_.size());
}

Seeds Seeds::from_all(std::vector<Vertex> training, int ranks, std::int64_t batch,
                      std::uint64_t seed) {
  return {{std::move(training)}, ranks, batch, seed};
}

Seeds Seeds::from_own(std::vector<std::vector<Vertex>> training, std::int64_t batch,
                      std::uint64_t seed) {
  return {std::move(training), 1, batch, seed};
}

Seeds Seeds::from_servers(std::vector<std::vector<Vertex>> training, int ranks_per_server,
                          std::int64_t batch, std::uint64_t seed) {
  return {std::move(training), ranks_per_server, ranks_per_server * batch, seed};
}

Seeds::Slice Seeds::slice(int rank, int step) const {
  const std::size_t list = at(rank / ranks_per_list_);
  const std::int64_t size = size_of(lists_[list]), index = rank % ranks_per_list_;
  const std::int64_t begin = std::min(size, step * batch_), end = std::min(size, begin + batch_);
  const std::int64_t seeds = end - begin;
  const std::int64_t before =
      index * (seeds / ranks_per_list_) + std::min(index, seeds % ranks_per_list_);
  return {list, begin + before, begin + before + share(seeds, ranks_per_list_, index)};
}

std::vector<Vertex> Seeds::of(int rank, int epoch, int step) const {
  const Slice s = slice(rank, step);
  const auto vertices = order(s.list, epoch);
  return {vertices->begin() + s.begin, vertices->begin() + s.end};
}

std::int64_t Seeds::longest_list() const {
  std::int64_t longest = 0;
  for (const auto& list : lists_) longest = std::max(longest, size_of(list));
  return longest;
}

std::int64_t Seeds::total(int step) const {
  std::int64_t total = 0;
  for (const auto& list : lists_)
    total += std::clamp<std::int64_t>(size_of(list) - step * batch_, 0, batch_);
  return total;
}

std::shared_ptr<const std::vector<Vertex>> Seeds::order(std::size_t list, int epoch) const {
  const std::lock_guard lock(kept_->mutex);
  Kept::Order& kept = kept_->of_list[list][at(epoch % 2)];
  if (kept.epoch != epoch) {
    const auto key =
        derived_seed(seed_, Purpose::sampler, static_cast<std::uint32_t>(epoch), kOrder);
    kept = {epoch, std::make_shared<const std::vector<Vertex>>(shuffled(lists_[list], key))};
  }
  return kept.vertices;
}

}  // namespace orrery
