#include "core/sample/neighbour_sampler.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <variant>

#include "core/base/cache_line.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/sample/alias_rows.hpp"
#include "core/sample/numbering.hpp"
#include "core/sample/row_picks.hpp"
#include "core/sample/stacked_relations.hpp"

namespace orrery {
namespace {

/// Rows whose memory is requested together. A core keeps about ten cache misses under way. The
/// picks of 16 rows always have that many, and what was requested is still in the first level.
constexpr std::int64_t kWindow = 16;

/// A dense numbering takes one access. If it is larger than this, and a table is smaller, the table
/// stays in the cache and wins.
constexpr std::int64_t kDenseBytes = std::int64_t{16} << 20;

std::vector<int> checked(std::vector<int> fanouts) {
  if (fanouts.empty()) throw ConfigError("fanouts", "expected one for each layer, found none");
  for (std::size_t i = 0; i < fanouts.size(); ++i)
    if (fanouts[i] != kAllNeighbours && fanouts[i] < 1)
      throw ConfigError(fmt::format("fanouts[{}]", i),
                        fmt::format("found {}, expected {} (all neighbours) or a number >= 1",
                                    fanouts[i], kAllNeighbours));
  return fanouts;
}

/// Relations whose counts are written at once, needed or not.
constexpr std::size_t kMostAtOnce = 8;

/// The draw of a layer, from a word that no row draws.
Variates layer_variates(std::uint64_t key_seed, std::uint32_t hop) {
  const auto words =
      random_bits(key_seed, Purpose::sampler, 0, hop, std::numeric_limits<std::uint32_t>::max());
  return {words[0], words[1]};
}

}  // namespace

struct NeighbourSampler::Scratch::Content {
  std::variant<DenseNumbering, TableNumbering> numbering;
  std::vector<EdgeIndex> positions;  ///< places of a layer's picks in the graph's columns
  RowPicks picks;
};

NeighbourSampler::Scratch::Scratch(Content content)
    : content_(std::make_unique<Content>(std::move(content))) {}
NeighbourSampler::Scratch::Scratch(Scratch&&) noexcept = default;
NeighbourSampler::Scratch::~Scratch() = default;

/// The work on one batch: its layers one after the other.
template <class Numbering>
class BatchSampling {
 public:
  BatchSampling(const CsrView& graph, const StackedRelations* relations,
                const NeighbourSampling& sampling, const AliasRows* alias, std::uint64_t key_seed,
                Numbering& numbering, std::vector<EdgeIndex>& positions, RowPicks& picks,
                const ExcludedEntries& excluded)
      : graph_(graph),
        relations_(relations),
        sampling_(sampling),
        alias_(alias),
        key_seed_(key_seed),
        numbering_(numbering),
        positions_(positions),
        picks_(picks),
        excluded_(excluded) {
    if (alias_ != nullptr) begun_.resize(2 * kWindow);
  }

  MessageFlow run(std::span<const Vertex> seeds, bool with_edges) {
    const std::size_t layers = sampling_.fanouts.size();
    MessageFlow flow;
    flow.rows.resize(layers + 1);
    flow.blocks.resize(layers);
    numbering_.begin();
    for (const Vertex seed : seeds) numbering_.number(seed, flow.vertices);
    if (flow.vertices.size() != seeds.size()) throw Error("a batch has the same seed twice");
    flow.rows[layers] = static_cast<std::int64_t>(flow.vertices.size());
    for (std::size_t hop = 0; hop < layers; ++hop) {
      const std::size_t layer = layers - hop;  // from 1 to L, as in the model
      Csr& block = flow.blocks[layer - 1];
      draw_layer(static_cast<std::uint32_t>(hop), flow.vertices, block);
      flow.rows[layer - 1] = block.cols = static_cast<std::int64_t>(flow.vertices.size());
      if (with_edges) flow.edges.insert(flow.edges.begin(), positions_);
    }
    return flow;
  }

 private:
  /// Three steps wait for memory, each some rows behind the one before: which entries a row takes
  /// (needs its length), which vertices these are (needs the entries), and which numbers they have
  /// (needs the numbering).
  void draw_layer(std::uint32_t hop, std::vector<Vertex>& vertices, Csr& block) {
    const auto rows = static_cast<std::int64_t>(vertices.size());
    variates_ = layer_variates(key_seed_, hop);
    ends_.assign(at(rows) + 1, 0);
    positions_.clear();
    if (relations_ != nullptr) {  // room for the rows of the vertices, of which some have fewer
      block.offsets.resize(at(rows * relations_->most_relations()) + 1 + kMostAtOnce);
      row_end_ = block.offsets.data() + 1;
    }
    ask_for_offsets(vertices, 0, std::min(rows, 2 * kWindow));
    if (alias_ != nullptr) begin_draws(hop, vertices, 0, std::min(rows, kWindow));
    for (std::int64_t first = 0; first < rows + 2 * kWindow; first += kWindow) {
      if (first < rows) {
        ask_for_offsets(vertices, first + 2 * kWindow, std::min(rows, first + 3 * kWindow));
        const std::int64_t next = first + kWindow, end_of_next = std::min(rows, next + kWindow);
        if (alias_ != nullptr)
          begin_draws(hop, vertices, next, end_of_next);
        else if (sampling_.rule == NeighbourRule::labor)
          ask_for_entries(vertices, next, end_of_next);
        for (std::int64_t r = first; r < std::min(rows, first + kWindow); ++r) {
          take(hop, vertices[at(r)], r);
          ends_[at(r) + 1] = static_cast<EdgeIndex>(positions_.size());
        }
      }
      if (first >= kWindow && first < rows + kWindow) {
        if (sampling_.copies == 1)
          read(block, first - kWindow);
        else
          read_of_copies(block, first - kWindow, vertices);
      }
      if (first >= 2 * kWindow) number(block, first - 2 * kWindow, vertices);
    }
    if (relations_ == nullptr)
      block.offsets = std::move(ends_);
    else
      block.offsets.resize(static_cast<std::size_t>(row_end_ - block.offsets.data()));
    block.rows = std::ssize(block.offsets) - 1;
  }

  void ask_for_offsets(const std::vector<Vertex>& vertices, std::int64_t first, std::int64_t end) {
    for (std::int64_t r = first; r < end; ++r) {
      const Vertex v = vertices[at(r)];
      if (relations_ != nullptr) own_[at(r) % own_.size()] = relations_->rows_of(v);
      const StackedRelations::Rows own = own_rows(r, v);
      prefetch(&graph_.offsets[at(own.first)]);
      if (relations_ != nullptr) prefetch(&graph_.offsets[at(own.first + own.count)]);
      if (alias_ != nullptr) alias_->announce(static_cast<Vertex>(own.first));
    }
  }

  /// For a rule that looks at more of a row than it takes: asks for its first cache lines.
  void ask_for_entries(const std::vector<Vertex>& vertices, std::int64_t first,
                       std::int64_t end) const {
    constexpr EdgeIndex kPerLine = 64 / sizeof(Vertex), kLines = 4;
    for (std::int64_t r = first; r < end; ++r) {
      const std::int64_t row = own_rows(r, vertices[at(r)]).first;
      const EdgeIndex begin = graph_.offsets[at(row)], last = graph_.offsets[at(row) + 1];
      for (EdgeIndex e = begin; e < std::min(last, begin + kLines * kPerLine); e += kPerLine)
        prefetch(&graph_.columns[at(e)]);
    }
  }

  void begin_draws(std::uint32_t hop, const std::vector<Vertex>& vertices, std::int64_t first,
                   std::int64_t end) {
    for (std::int64_t r = first; r < end; ++r) {
      const Vertex v = vertices[at(r)];
      const auto row = static_cast<Vertex>(own_rows(r, v).first);
      const EdgeIndex begin = graph_.offsets[at(row)];
      alias_->begin(RowDraws(key_seed_, hop, v), row, begin,
                    static_cast<std::uint32_t>(graph_.offsets[at(row) + 1] - begin),
                    sampling_.fanouts[hop], begun_[at(r) % begun_.size()]);
    }
  }

  /// Appends the positions of the entries that vertex number r takes and, with relations, the rows of
  /// the block that have them.
  void take(std::uint32_t hop, Vertex v, std::int64_t r) {
    const std::size_t before = positions_.size();
    copy_ = sampling_.copies == 1 ? 0 : v % sampling_.copies;
    const StackedRelations::Rows own = own_rows(r, v);
    if (relations_ != nullptr) {
      take_of_relations(hop, v, own);
    } else {
      const auto row = static_cast<Vertex>(own.first);
      const EdgeIndex begin = graph_.offsets[at(row)], end = graph_.offsets[at(row) + 1];
      if (alias_ != nullptr)
        alias_->finish(begun_[at(r) % begun_.size()], row, begin,
                       static_cast<std::uint32_t>(end - begin), sampling_.fanouts[hop], picks_,
                       positions_);
      else
        take_within(hop, v, begin, end, sampling_.fanouts[hop]);
    }
    for (std::size_t e = before; e < positions_.size(); ++e)
      prefetch(&graph_.columns[at(positions_[e])]);
  }

  void take_of_relations(std::uint32_t hop, Vertex v, const StackedRelations::Rows& own) {
    const EdgeIndex* offsets = graph_.offsets.data() + own.first;
    if (!sampling_.by_relation.empty()) {
      const std::int64_t number = relations_->number_of(v);
      const std::vector<int>& into = relations_->types[at(own.type)].relations;
      for (std::int64_t k = 0; k < own.count; ++k) {
        take_within(hop, static_cast<Vertex>(number + k), offsets[k], offsets[k + 1],
                    sampling_.by_relation[at(into[at(k)])][hop]);
        *row_end_++ = std::ssize(positions_);
      }
      return;
    }
    const auto before = std::ssize(positions_);
    const EdgeIndex begin = offsets[0], end = offsets[own.count];
    take_within(hop, v, begin, end, sampling_.fanouts[hop]);
    const auto picks = std::span(positions_).subspan(at(before));
    const bool all = std::ssize(picks) == end - begin && excluded_.empty() &&
                     sampling_.rule != NeighbourRule::replacement;
    if (all)  // they are in order
      for (std::int64_t k = 1; k <= own.count; ++k) *row_end_++ = before + offsets[k] - begin;
    else
      divide(picks, {offsets, at(own.count + 1)});
  }

  /// Orders the last picks, all of one vertex, by relation, and writes where those of each end.
  void divide(std::span<EdgeIndex> picks, std::span<const EdgeIndex> offsets) {
    if (offsets.size() <= 5 && picks.size() < 1U << 16U) return divide_few<4>(picks, offsets);
    if (offsets.size() <= 9 && picks.size() < 1U << 8U)
      return divide_few<kMostAtOnce>(picks, offsets);
    std::ranges::sort(picks);
    const auto before = std::ssize(positions_) - std::ssize(picks);
    for (const EdgeIndex end : offsets.subspan(1))
      *row_end_++ = before + (std::ranges::lower_bound(picks, end) - picks.begin());
  }

  /// The same for so many relations or fewer. Their counts lie side by side in one word: neither branches nor
  /// memory wait for a pick.
  template <std::size_t kRelations>
  void divide_few(std::span<EdgeIndex> picks, std::span<const EdgeIndex> offsets) {
    constexpr std::size_t kBits = 64 / kRelations;
    constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1;
    constexpr std::uint64_t kOnes =
        ~std::uint64_t{0} / kMask;                 // times it: sums of all counts up to each
    std::array<EdgeIndex, kRelations - 1> starts;  // of all relations but the first
    for (std::size_t k = 0; k < starts.size(); ++k)
      starts[k] = offsets[std::min(k + 1, offsets.size() - 1)];
    if (drawn_.size() < picks.size()) drawn_.resize(picks.size());
    std::uint64_t counts = 0;
    for (std::size_t i = 0; i < picks.size(); ++i) {
      std::size_t shift = 0;
      for (const EdgeIndex start : starts) shift += picks[i] >= start ? kBits : 0;
      drawn_[i] = {picks[i], shift};
      counts += std::uint64_t{1} << shift;
    }
    const std::uint64_t ends = counts * kOnes;
    const EdgeIndex before = std::ssize(positions_) - std::ssize(picks);
    for (std::size_t k = 0; k < kRelations; ++k)  // those after the last are written over
      row_end_[k] = before + static_cast<EdgeIndex>(ends >> (k * kBits) & kMask);
    row_end_ += offsets.size() - 1;
    std::uint64_t next = ends - counts;
    for (std::size_t i = 0; i < picks.size(); ++i) {
      const auto [position, shift] = drawn_[i];
      picks[next >> shift & kMask] = position;
      next += std::uint64_t{1} << shift;
    }
  }

  /// Takes entries from [begin, end); `key` tells the draws from those of others.
  void take_within(std::uint32_t hop, Vertex key, EdgeIndex begin, EdgeIndex end, int fanout) {
    gone_.clear();
    if (!excluded_.empty()) excluded_.within(begin, end, copy_, gone_);
    if (gone_.empty())
      choose(hop, key, begin, static_cast<std::uint32_t>(end - begin),
             graph_.columns.data() + begin, fanout);
    else
      take_without(hop, key, begin, end, fanout);
  }

  /// The row is drawn from as if it had no other entries than those that are left (without `gone_`), then
  /// what was drawn is looked up among all.
  void take_without(std::uint32_t hop, Vertex v, EdgeIndex begin, EdgeIndex end, int fanout) {
    left_.clear();
    left_columns_.clear();
    std::size_t next = 0;
    for (EdgeIndex e = begin; e < end; ++e)
      if (next < gone_.size() && gone_[next] == e) {
        ++next;
      } else {
        left_.push_back(e);
        left_columns_.push_back(graph_.columns[at(e)]);
      }
    const std::size_t before = positions_.size();
    choose(hop, v, 0, static_cast<std::uint32_t>(left_.size()), left_columns_.data(), fanout);
    for (std::size_t e = before; e < positions_.size(); ++e)
      positions_[e] = left_[at(positions_[e])];
  }

  /// Appends `begin` + the places of the entries that a vertex takes of `degree` ones.
  void choose(std::uint32_t hop, Vertex v, EdgeIndex begin, std::uint32_t degree,
              const Vertex* columns, int fanout) {
    if (fanout == 0) return;
    const bool all = fanout == kAllNeighbours || static_cast<std::int64_t>(degree) <= fanout;
    switch (sampling_.rule) {
      case NeighbourRule::uniform:
      case NeighbourRule::labor:
        if (all)
          picks_.all(begin, degree, positions_);
        else if (sampling_.rule == NeighbourRule::labor)
          picks_.lowest(variates_, columns, begin, degree, static_cast<std::uint32_t>(fanout),
                        positions_);
        else
          picks_.distinct(RowDraws(key_seed_, hop, v), begin, degree,
                          static_cast<std::uint32_t>(fanout), positions_);
        break;
      case NeighbourRule::replacement:
        if (fanout == kAllNeighbours)
          picks_.all(begin, degree, positions_);
        else if (degree > 0)
          picks_.repeated(RowDraws(key_seed_, hop, v), begin, degree,
                          static_cast<std::uint32_t>(fanout), positions_);
        break;
      case NeighbourRule::weighted:
        ORRERY_ASSERT(false);  // take() draws by weight
    }
  }

  void read(Csr& block, std::int64_t first) {
    const auto [begin, end] = entries(first);
    block.columns.resize(end);
    for (std::size_t e = begin; e < end; ++e) {
      const Vertex u = graph_.columns[at(positions_[e])];
      block.columns[e] = u;
      numbering_.announce(u);
    }
  }

  /// A neighbour is in the same copy as the row that takes it.
  void read_of_copies(Csr& block, std::int64_t first, const std::vector<Vertex>& vertices) {
    block.columns.resize(entries(first).second);
    for (std::int64_t r = first; r < end_of_window(first); ++r) {
      const Vertex copy = vertices[at(r)] % sampling_.copies;
      for (EdgeIndex e = ends_[at(r)]; e < ends_[at(r) + 1]; ++e) {
        const Vertex u = graph_.columns[at(positions_[at(e)])] * sampling_.copies + copy;
        block.columns[at(e)] = u;
        numbering_.announce(u);
      }
    }
  }

  void number(Csr& block, std::int64_t first, std::vector<Vertex>& vertices) {
    const auto [begin, end] = entries(first);
    if (sampling_.keeps_vertices) {
      for (std::size_t e = begin; e < end; ++e) numbering_.number(block.columns[e], vertices);
      return;
    }
    for (std::size_t e = begin; e < end; ++e)
      block.columns[e] = numbering_.number(block.columns[e], vertices);
  }

  /// The rows of vertex number r in the graph, after ask_for_offsets().
  StackedRelations::Rows own_rows(std::int64_t r, Vertex v) const {
    if (relations_ != nullptr) return own_[at(r) % own_.size()];
    return {sampling_.copies == 1 ? v : v / sampling_.copies, 1};
  }

  std::int64_t end_of_window(std::int64_t first) const {
    return std::min(std::ssize(ends_) - 1, first + kWindow);
  }
  std::pair<std::size_t, std::size_t> entries(std::int64_t first) const {
    return {at(ends_[at(first)]), at(ends_[at(end_of_window(first))])};
  }

  const CsrView& graph_;
  const StackedRelations* relations_;
  const NeighbourSampling& sampling_;
  const AliasRows* alias_;
  std::uint64_t key_seed_;
  Variates variates_;  ///< of the layer
  Numbering& numbering_;
  std::vector<EdgeIndex>& positions_;
  RowPicks& picks_;
  const ExcludedEntries& excluded_;
  /// With relations: rows of vertices whose offsets were asked for and whose entries were not taken.
  std::array<StackedRelations::Rows, 4 * kWindow> own_;
  struct Drawn {
    EdgeIndex position;
    std::size_t shift;  ///< to the count of its relation
  };
  std::vector<Drawn> drawn_;             ///< the picks of a vertex
  EdgeIndex* row_end_ = nullptr;         ///< the next of the block's offsets, with relations
  Vertex copy_ = 0;                      ///< of the vertex that takes entries
  std::vector<AliasRows::Begun> begun_;  ///< of two windows of rows, drawn by weight
  std::vector<EdgeIndex> ends_;          ///< where the picks of each vertex end; the first is 0
  std::vector<EdgeIndex> gone_;          ///< the excluded entries of a row
  std::vector<EdgeIndex> left_;          ///< of a row without the excluded entries: positions
  std::vector<Vertex> left_columns_;
};

std::int64_t MessageFlow::sampled_edges() const {
  std::int64_t sum = 0;
  for (const Csr& block : blocks) sum += block.nnz();
  return sum;
}

NeighbourSampler::NeighbourSampler(const CsrView& graph, NeighbourSampling sampling,
                                   std::span<const float> weights)
    : graph_(graph), sampling_(std::move(sampling)) {
  sampling_.fanouts = checked(std::move(sampling_.fanouts));
  const bool weighted = sampling_.rule == NeighbourRule::weighted;
  if (weighted != !weights.empty() && graph.nnz() > 0)
    throw ConfigError("weights", weighted ? "weighted sampling needs a weight for each edge"
                                          : "only go with weighted sampling");
  if (weighted) alias_ = std::make_unique<const AliasRows>(graph, weights);
}

NeighbourSampler::NeighbourSampler(const StackedRelations& relations, NeighbourSampling sampling)
    : graph_(relations.rows), relations_(&relations), sampling_(std::move(sampling)) {
  sampling_.fanouts = checked(std::move(sampling_.fanouts));
  ORRERY_ASSERT(sampling_.rule != NeighbourRule::weighted && sampling_.copies == relations.copies);
  for (const std::vector<int>& of_relation : sampling_.by_relation)
    ORRERY_ASSERT(of_relation.size() == sampling_.fanouts.size());
  ORRERY_ASSERT(sampling_.by_relation.empty() ||
                std::ssize(sampling_.by_relation) == relations.relations);
}

NeighbourSampler::~NeighbourSampler() = default;

std::int64_t NeighbourSampler::most_edges(std::size_t hop) const {
  const auto most_of = [](int fanout, std::int64_t edges) {
    return fanout == kAllNeighbours ? edges : std::min<std::int64_t>(fanout, edges);
  };
  if (relations_ == nullptr) return most_of(sampling_.fanouts[hop], vertices());
  std::int64_t most = 0;
  for (const StackedRelations::OfType& type : relations_->types) {
    std::int64_t edges = 0;
    for (const int r : type.relations)
      edges += sampling_.by_relation.empty()
                   ? vertices()
                   : most_of(sampling_.by_relation[at(r)][hop], vertices());
    most = std::max(most, edges);
  }
  return sampling_.by_relation.empty() ? most_of(sampling_.fanouts[hop], most) : most;
}

std::int64_t NeighbourSampler::most_vertices(std::int64_t seeds) const {
  std::int64_t most = seeds;
  for (std::size_t hop = 0; hop < sampling_.fanouts.size(); ++hop) {
    const std::int64_t times = most_edges(hop) + 1;
    if (most > vertices() / times) return vertices();
    most *= times;
  }
  return most;
}

std::int64_t NeighbourSampler::scratch_bytes(std::int64_t most_seeds) const {
  const std::int64_t dense = 4 * vertices();
  const std::int64_t table = TableNumbering::bytes(most_vertices(most_seeds));
  return dense > kDenseBytes ? std::min(dense, table) : dense;
}

NeighbourSampler::Scratch NeighbourSampler::scratch(std::int64_t most_seeds) const {
  if (scratch_bytes(most_seeds) == 4 * vertices())
    return Scratch({DenseNumbering(vertices()), {}, {}});
  return Scratch({TableNumbering(most_vertices(most_seeds)), {}, {}});
}

MessageFlow NeighbourSampler::sample(std::span<const Vertex> seeds, const DrawKey& key,
                                     Scratch& scratch, bool with_edges,
                                     const ExcludedEntries& excluded) const {
  ORRERY_ASSERT(excluded.empty() || (alias_ == nullptr && sampling_.copies == excluded.copies()));
  return std::visit(
      [&](auto& numbering) {
        return BatchSampling(graph_, relations_, sampling_, alias_.get(), RowDraws::seed_of(key),
                             numbering, scratch.content_->positions, scratch.content_->picks,
                             excluded)
            .run(seeds, with_edges);
      },
      scratch.content_->numbering);
}

MessageFlow NeighbourSampler::among(std::vector<Vertex> vertices, Scratch& scratch) const {
  ORRERY_ASSERT(sampling_.copies == 1);
  constexpr EdgeIndex kAhead = 16;  // entries whose numbers are on their way from memory
  Csr block;
  std::vector<EdgeIndex> edges;
  std::int64_t scanned = 0;
  const auto add_rows = [&](auto& numbering, std::int64_t first, std::int64_t count) {
    for (std::int64_t row = first; row < first + count; ++row) {
      const EdgeIndex begin = graph_.offsets[at(row)], end = graph_.offsets[at(row) + 1];
      for (EdgeIndex e = begin; e < end; ++e) {
        if (e + kAhead < graph_.nnz()) numbering.announce(graph_.columns[at(e + kAhead)]);
        const Vertex number = numbering.find(graph_.columns[at(e)]);
        if (number < 0) continue;
        block.columns.push_back(number);
        edges.push_back(e);
      }
      scanned += end - begin;
      block.offsets.push_back(block.nnz());
    }
  };
  std::visit(
      [&](auto& numbering) {
        numbering.begin();
        std::vector<Vertex> numbered;
        for (const Vertex v : vertices) numbering.number(v, numbered);
        for (const Vertex v : vertices) {
          const StackedRelations::Rows rows =
              relations_ ? relations_->rows_of(v) : StackedRelations::Rows{v, 1};
          add_rows(numbering, rows.first, rows.count);
        }
      },
      scratch.content_->numbering);
  block.cols = std::ssize(vertices);
  block.rows = std::ssize(block.offsets) - 1;
  MessageFlow flow;
  flow.rows.assign(sampling_.fanouts.size() + 1, block.cols);
  flow.blocks.push_back(std::move(block));
  flow.edges.push_back(std::move(edges));
  flow.vertices = std::move(vertices);
  flow.scanned = scanned;
  return flow;
}

}  // namespace orrery
