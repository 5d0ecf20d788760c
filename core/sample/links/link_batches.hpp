// Links as seeds: which of them each rank trains on in every step, with pairs that are no links,
// and the ranks that bring the rows to score them.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/partition/partition.hpp"
#include "core/sample/links/held_out_links.hpp"
#include "core/sample/seeds.hpp"

namespace orrery {

/// How an epoch is cut into steps.
struct LinkSteps {
  /// Links of a step, as seeds (SeedsFrom); 0: all links in one step, each on the rank that owns its
  /// source.
  std::int64_t batch = 0;
  SeedsFrom from = SeedsFrom::all;
  int ranks_per_server = 1;
};

/// The pairs of one rank by the rows of their two ends: links first, then the negatives of each.
/// Rows are the rank's own, after them those that it receives, by owner.
struct PairRows {
  std::int64_t links = 0;
  int per_link = 0;
  std::vector<Vertex> left, right;          ///< [links · (1 + per_link)]
  std::vector<std::int64_t> receive, send;  ///< rows from and to each rank; none: nothing travels
  std::vector<Vertex> send_rows;            ///< own row of each sent one, by receiver

  std::int64_t pairs() const { return std::ssize(left); }
};

/// The rows of pairs whose vertices are all among `vertices`, which are distinct.
PairRows pair_rows(const ScoredLinks& pairs, std::span<const Vertex> vertices);

/// The links of all ranks and steps, each a function of the seed, the epoch, the step and the link. If a
/// vertex stands for several (Dataset::magnify), each link is in one copy of the graph, which is drawn for it,
/// and vertex v of copy c is v · copies + c.
/// All calls may come from several threads at once.
class LinkBatches {
 public:
  /// `data` is what is trained on.
  ///
  /// Errors    ConfigError: negatives that the steps, or the ranks, cannot have
  LinkBatches(std::shared_ptr<const LinkTask> task, const Dataset& data, const Partition& cut,
              LinkSteps steps, std::uint64_t seed);

  const LinkTask& task() const { return *task_; }
  int ranks() const { return static_cast<int>(owned_.size()); }
  /// Steps of an epoch, as many on all ranks.
  int steps() const;
  /// Links of all ranks together in a step, and in an epoch.
  std::int64_t links(int step) const;
  std::int64_t links() const { return std::ssize(task_->train); }
  /// Bytes of the graph in which pairs are looked up.
  std::int64_t graph_bytes() const {
    return 4 * static_cast<std::int64_t>(graph_->columns.size()) +
           8 * static_cast<std::int64_t>(graph_->offsets.size());
  }
  /// Whether a step takes some of the links, as seeds of batches that have all their rows.
  bool in_batches() const { return seeds_.has_value(); }
  /// Links in the longest of the lists from which ranks take theirs.
  ///
  /// Requires  in_batches()
  std::int64_t longest_list() const { return seeds_->longest_list(); }
  /// The largest number of links that a rank has in a step.
  std::int64_t most_links() const { return most_links_; }
  /// A bound for the distinct vertices at the ends of the pairs that a rank has in a step.
  std::int64_t most_ends() const;

  /// The links that a rank scores in a step.
  ScoredLinks of(int rank, int epoch, int step) const;
  /// The vertices of these, each once, in the order in which they come.
  static std::vector<Vertex> vertices_of(const ScoredLinks& pairs);
  /// The links that a rank's sample of a step must not take, in neither direction: those of the step, of
  /// all ranks that take them from one list.
  std::vector<VertexPair> excluded(int rank, int epoch, int step) const;

  /// Where every rank owns rows of its part: what each needs in a step, or to score what is held
  /// out. The ranks of a process share it.
  using OfRanks = std::shared_ptr<const std::vector<PairRows>>;
  OfRanks rows_of_step(int epoch, int step) const;
  /// Those whose source a rank owns.
  OfRanks rows_of(const ScoredLinks& held_out) const;

 private:
  /// The links from which a rank takes its share of a step, in the order of the step, and the share.
  struct Group {
    std::vector<Vertex> links;  ///< numbers in LinkTask::train
    std::size_t first = 0, last = 0;
  };
  int owner_of(const VertexPair& link) const { return owner_[at(link.source / copies_)]; }
  Group group(int rank, int epoch, int step) const;
  Vertex any_vertex(std::uint64_t key, std::uint32_t a, std::uint32_t b, const VertexRange& of,
                    std::optional<int> part) const;
  /// A rank's own vertices in a range.
  std::span<const Vertex> own_in(const VertexRange& range, int rank) const;
  bool is_edge(const VertexPair& pair) const;
  OfRanks exchange(const std::vector<ScoredLinks>& of_ranks) const;

  int copies_;
  std::shared_ptr<const LinkTask> task_;
  std::shared_ptr<const Csr> graph_;  ///< whose edges are links
  std::vector<std::int32_t> owner_;
  std::vector<std::vector<Vertex>> owned_;  ///< vertices of each rank, ascending, of one copy
  std::vector<Vertex> row_;                 ///< of each vertex at its owner
  LinkSteps cut_;
  int ranks_per_list_;
  std::int64_t most_links_ = 0;
  std::uint64_t seed_;
  std::optional<Seeds> seeds_;  ///< none where all links are one step
  struct Last {
    int epoch = -1, step = -1;
    OfRanks rows;
  };
  mutable std::mutex mutex_;
  mutable Last last_;  ///< the links that were requested last
};

}  // namespace orrery
