#include "core/sample/links/link_batches.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/rng.hpp"
#include "core/sample/numbering.hpp"

namespace orrery {
namespace {

/// The numbers of these draws of the purpose `sampler`, different from those of Seeds.
constexpr std::uint32_t kNegatives = 0xFFFFFFFDU, kPool = 0xFFFFFFFCU, kCopies = 0xFFFFFFFBU;
/// A draw that is an edge is drawn again, up to this many draws in all; then it is taken.
constexpr std::uint32_t kTries = 16;

int ranks_per_list(const LinkSteps& steps, int ranks) {
  if (steps.batch == 0 || steps.from == SeedsFrom::all) return ranks;
  return steps.from == SeedsFrom::own ? 1 : steps.ranks_per_server;
}

std::vector<Vertex> numbers_below(std::int64_t n) {
  std::vector<Vertex> numbers(at(n));
  std::iota(numbers.begin(), numbers.end(), Vertex{0});
  return numbers;
}

/// Each link in a copy that is drawn for it; negatives come from all copies.
std::shared_ptr<const LinkTask> in_copies(std::shared_ptr<const LinkTask> once, int copies,
                                          std::uint64_t seed) {
  if (copies == 1) return once;
  auto made = std::make_shared<LinkTask>(*once);
  const auto key = derived_seed(seed, Purpose::sampler, 0, kCopies);
  for (std::size_t n = 0; n < made->train.size(); ++n) {
    const auto bits = random_bits(key, Purpose::sampler, static_cast<std::uint32_t>(n));
    const auto copy = static_cast<Vertex>(uniform_below(bits[0], bits[1], at(copies)));
    VertexPair& link = made->train[n];
    link = {link.source * copies + copy, link.destination * copies + copy};
  }
  for (VertexRange* range : {&made->sources, &made->destinations})
    *range = {range->first * copies, range->count * copies};
  return made;
}

}  // namespace

PairRows pair_rows(const ScoredLinks& pairs, std::span<const Vertex> vertices) {
  TableNumbering row(std::ssize(vertices));
  row.begin();
  std::vector<Vertex> numbered;
  numbered.reserve(vertices.size());
  for (const Vertex v : vertices) row.number(v, numbered);
  PairRows rows;
  rows.left.reserve(pairs.links.size() + pairs.negatives.size());
  rows.right.reserve(rows.left.capacity());
  rows.links = std::ssize(pairs.links);
  rows.per_link = pairs.per_link;
  for (const auto* list : {&pairs.links, &pairs.negatives})
    for (const VertexPair& pair : *list) {
      rows.left.push_back(row.number(pair.source, numbered));
      rows.right.push_back(row.number(pair.destination, numbered));
    }
  ORRERY_ASSERT(numbered.size() == vertices.size() && "an end of a pair is not among the vertices");
  return rows;
}

LinkBatches::LinkBatches(std::shared_ptr<const LinkTask> task, const Dataset& data,
                         const Partition& cut, LinkSteps steps, std::uint64_t seed)
    : copies_(static_cast<int>(data.magnify)),
      task_(in_copies(std::move(task), copies_, seed)),
      graph_(task_->edges),
      owner_(cut.owner),
      owned_(cut.members()),
      row_(cut.owner.size()),
      cut_(steps),
      ranks_per_list_(ranks_per_list(steps, cut.parts)),
      seed_(seed) {
  for (const auto& own : owned_)
    for (std::size_t i = 0; i < own.size(); ++i) row_[at(own[i])] = static_cast<Vertex>(i);
  const LinkConfig& config = task_->config;
  const std::int64_t together = cut_.batch == 0 ? links() : std::min(links(), cut_.batch);
  if (config.negatives == NegativesFrom::in_batch && config.negatives_per_link >= together)
    throw ConfigError("links.negatives_per_link",
                      fmt::format("found {}, but a batch of {} links has the other ends of {} "
                                  "others: set it to that or fewer",
                                  config.negatives_per_link, together, together - 1));
  if (config.negatives == NegativesFrom::local)
    for (int rank = 0; rank < ranks(); ++rank)
      for (const VertexRange* range : {&task_->sources, &task_->destinations})
        if (own_in(*range, rank).empty())
          throw ConfigError(
              "links.negatives",
              fmt::format("\"local\" draws from a rank's own vertices, but rank {} has "
                          "none of the {}: use \"uniform\", or another partition",
                          rank, task_->relation < 0 ? "graph" : "relation's types"));
  std::vector<std::int64_t> owned(owned_.size(), 0);
  for (const VertexPair& link : task_->train)
    most_links_ = std::max(most_links_, ++owned[at(owner_of(link))]);
  if (cut_.batch == 0) return;
  const bool shared = cut_.from == SeedsFrom::all;
  most_links_ = std::min(links(), shared ? (cut_.batch + ranks() - 1) / ranks() : cut_.batch);
  if (cut_.from == SeedsFrom::all) {
    seeds_ = Seeds::from_all(numbers_below(links()), ranks(), cut_.batch, seed_);
    return;
  }
  std::vector<std::vector<Vertex>> lists(at(ranks() / ranks_per_list_));
  for (std::size_t n = 0; n < task_->train.size(); ++n)
    lists[at(owner_of(task_->train[n]) / ranks_per_list_)].push_back(static_cast<Vertex>(n));
  seeds_ = Seeds::from_servers(
      share_equally(std::move(lists), cut_.ranks_per_server / ranks_per_list_, seed_),
      ranks_per_list_, cut_.batch, seed_);
}

int LinkBatches::steps() const { return seeds_ ? seeds_->steps() : 1; }

std::int64_t LinkBatches::links(int step) const { return seeds_ ? seeds_->total(step) : links(); }

std::int64_t LinkBatches::most_ends() const {
  const LinkConfig& config = task_->config;
  const std::int64_t each = config.negatives_per_link;
  const auto of_own = [&](std::int64_t links) {  // each negative has ends that are drawn for it
    return links * (2 + each * (config.corrupted == Corrupted::both ? 2 : 1));
  };
  switch (config.negatives) {
    case NegativesFrom::joint:
      return 2 * most_links_ + each;
    case NegativesFrom::in_batch:  // steps of so few links draw some ends
      return std::max(2 * most_links_ + each, of_own(std::min(most_links_, each)));
    case NegativesFrom::uniform:
    case NegativesFrom::local:
      break;
  }
  return of_own(most_links_);
}

LinkBatches::Group LinkBatches::group(int rank, int epoch, int step) const {
  Group group;
  if (!seeds_) {
    group.links = numbers_below(links());
    group.last = group.links.size();
    return group;
  }
  const int first = rank - rank % ranks_per_list_;
  for (int r = first; r < first + ranks_per_list_; ++r) {
    const std::vector<Vertex> own = seeds_->of(r, epoch, step);
    if (r == rank) group.first = group.links.size();
    group.links.insert(group.links.end(), own.begin(), own.end());
    if (r == rank) group.last = group.links.size();
  }
  return group;
}

std::span<const Vertex> LinkBatches::own_in(const VertexRange& range, int rank) const {
  const std::vector<Vertex>& own = owned_[at(rank)];
  const auto first = std::lower_bound(own.begin(), own.end(), range.first / copies_);
  return {first, std::lower_bound(first, own.end(), (range.first + range.count) / copies_)};
}

Vertex LinkBatches::any_vertex(std::uint64_t key, std::uint32_t a, std::uint32_t b,
                               const VertexRange& of, std::optional<int> part) const {
  const auto bits = random_bits(key, Purpose::sampler, a, b);
  if (!part) return of.first + static_cast<Vertex>(uniform_below(bits[0], bits[1], at(of.count)));
  const auto own = own_in(of, *part);
  const auto i = static_cast<Vertex>(uniform_below(bits[0], bits[1], own.size() * at(copies_)));
  return own[at(i / copies_)] * copies_ + i % copies_;
}

bool LinkBatches::is_edge(const VertexPair& pair) const {
  const auto row = graph_->row(pair.destination / copies_);
  return pair.source % copies_ == pair.destination % copies_ &&
         std::binary_search(row.begin(), row.end(), pair.source / copies_);
}

ScoredLinks LinkBatches::of(int rank, int epoch, int step) const {
  const LinkConfig& config = task_->config;
  const Group batch = group(rank, epoch, step);
  const auto size = batch.links.size();
  const auto key =
      derived_seed(seed_, Purpose::sampler, static_cast<std::uint32_t>(epoch), kNegatives);
  const auto pool =
      derived_seed(derived_seed(seed_, Purpose::sampler, static_cast<std::uint32_t>(epoch), kPool),
                   Purpose::sampler, static_cast<std::uint32_t>(step),
                   static_cast<std::uint32_t>(rank / ranks_per_list_));
  ScoredLinks pairs;
  pairs.per_link = config.negatives_per_link;
  for (std::size_t i = batch.first; i < batch.last; ++i) {
    const Vertex number = batch.links[i];
    const VertexPair& link = task_->train[at(number)];
    if (!seeds_ && owner_of(link) != rank) continue;
    pairs.links.push_back(link);
    for (int k = 0; k < config.negatives_per_link; ++k) {
      VertexPair pair = link;
      const std::size_t other = (i + at(k) + 1) % size;
      // A last, short batch may have too few others.
      const bool in_batch = config.negatives == NegativesFrom::in_batch && at(k) + 1 < size;
      if (in_batch) {
        pair.destination = task_->train[at(batch.links[other])].destination;
      } else if (config.negatives == NegativesFrom::joint) {
        pair.destination =
            any_vertex(pool, static_cast<std::uint32_t>(k), 0, task_->destinations, std::nullopt);
      } else {
        const auto part =
            config.negatives == NegativesFrom::local ? std::optional(rank) : std::nullopt;
        for (std::uint32_t tries = 0; tries < kTries; ++tries) {
          const std::uint32_t draw = 2 * (static_cast<std::uint32_t>(k) * kTries + tries);
          const auto n = static_cast<std::uint32_t>(number);
          if (config.corrupted == Corrupted::both)
            pair.source = any_vertex(key, n, draw + 1, task_->sources, part);
          pair.destination = any_vertex(key, n, draw, task_->destinations, part);
          if (pair.source != pair.destination && !is_edge(pair)) break;
        }
      }
      pairs.negatives.push_back(pair);
    }
  }
  return pairs;
}

std::vector<Vertex> LinkBatches::vertices_of(const ScoredLinks& pairs) {
  TableNumbering numbers(2 * (std::ssize(pairs.links) + std::ssize(pairs.negatives)));
  numbers.begin();
  std::vector<Vertex> vertices;
  for (const auto* list : {&pairs.links, &pairs.negatives})
    for (const VertexPair& pair : *list) {
      numbers.number(pair.source, vertices);
      numbers.number(pair.destination, vertices);
    }
  return vertices;
}

std::vector<VertexPair> LinkBatches::excluded(int rank, int epoch, int step) const {
  std::vector<VertexPair> links;
  if (task_->config.exclude != ExcludedLinks::batch) return links;  // they are not in the graph
  for (const Vertex number : group(rank, epoch, step).links)
    links.push_back(task_->train[at(number)]);
  return links;
}

LinkBatches::OfRanks LinkBatches::rows_of_step(int epoch, int step) const {
  const std::lock_guard lock(mutex_);
  if (last_.rows && last_.epoch == epoch && last_.step == step) return last_.rows;
  std::vector<ScoredLinks> of_ranks;
  for (int rank = 0; rank < ranks(); ++rank) of_ranks.push_back(of(rank, epoch, step));
  last_ = {epoch, step, exchange(of_ranks)};
  return last_.rows;
}

LinkBatches::OfRanks LinkBatches::rows_of(const ScoredLinks& held_out) const {
  std::vector<ScoredLinks> of_ranks(owned_.size());
  for (ScoredLinks& own : of_ranks) own.per_link = held_out.per_link;
  const auto each = at(held_out.per_link);
  for (std::size_t i = 0; i < held_out.links.size(); ++i) {
    ScoredLinks& own = of_ranks[at(owner_of(held_out.links[i]))];
    own.links.push_back(held_out.links[i]);
    const auto first = held_out.negatives.begin() + static_cast<std::ptrdiff_t>(i * each);
    own.negatives.insert(own.negatives.end(), first, first + static_cast<std::ptrdiff_t>(each));
  }
  return exchange(of_ranks);
}

/// A rank receives each row that it needs of another one once, in ascending order of vertices.
LinkBatches::OfRanks LinkBatches::exchange(const std::vector<ScoredLinks>& of_ranks) const {
  ORRERY_ASSERT(copies_ == 1);
  auto made = std::make_shared<std::vector<PairRows>>(owned_.size());
  std::vector<std::vector<std::vector<Vertex>>> wanted(owned_.size());  // [rank][owner]
  for (std::size_t rank = 0; rank < owned_.size(); ++rank) {
    wanted[rank].resize(owned_.size());
    for (const Vertex v : vertices_of(of_ranks[rank]))
      if (at(owner_[at(v)]) != rank) wanted[rank][at(owner_[at(v)])].push_back(v);
    std::vector<Vertex> rows = owned_[rank];
    PairRows& own = (*made)[rank];
    for (auto& list : wanted[rank]) {
      std::sort(list.begin(), list.end());
      rows.insert(rows.end(), list.begin(), list.end());
    }
    own = pair_rows(of_ranks[rank], rows);
    for (const auto& list : wanted[rank]) own.receive.push_back(std::ssize(list));
  }
  for (std::size_t rank = 0; rank < owned_.size(); ++rank)
    for (std::size_t receiver = 0; receiver < owned_.size(); ++receiver) {
      const auto& list = wanted[receiver][rank];
      (*made)[rank].send.push_back(std::ssize(list));
      for (const Vertex v : list) (*made)[rank].send_rows.push_back(row_[at(v)]);
    }
  return made;
}

}  // namespace orrery
