#include "core/inference/layer_graphs.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/sample/draw_key.hpp"
#include "core/sample/row_picks.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kRowBlock = 4096;

std::int64_t groups_of(std::int64_t rows, std::int64_t rows_per_group) {
  return (rows + rows_per_group - 1) / rows_per_group;
}

/// Rows of group t where `rows` are fetched in groups; none beyond the last.
std::int64_t rows_of_group(std::int64_t rows, std::int64_t rows_per_group, std::int64_t t) {
  return std::clamp<std::int64_t>(rows - t * rows_per_group, 0, rows_per_group);
}

/// Writes the block of a group of which most rows may be empty.
class GroupBuilder {
 public:
  GroupBuilder(std::int64_t rows_of_part, std::int64_t columns)
      : rows_of_part_(rows_of_part), block_{0, columns, {}, {}} {}
  /// Requires  rows ascend, and so do the columns of a row
  void add(Vertex row, Vertex column, float value) {
    if (rows_.empty() || rows_.back() != row) {
      rows_.push_back(row);
      block_.offsets.push_back(block_.nnz());
    }
    block_.columns.push_back(column);
    values_.push_back(value);
  }
  void finish(RemoteGroup& group) {
    block_.offsets.push_back(block_.nnz());
    block_.rows = static_cast<std::int64_t>(rows_.size());
    if (kSparse * block_.rows >= rows_of_part_)
      spread();
    else
      group.rows = std::make_shared<const std::vector<Vertex>>(std::move(rows_));
    group.block = {std::make_shared<const Csr>(std::move(block_)),
                   std::make_shared<const std::vector<float>>(std::move(values_))};
  }

 private:
  static constexpr std::int64_t kSparse = 4;  ///< one row in so many has an entry

  /// Puts the rows where they are in the part, with empty ones between them.
  void spread() {
    std::vector<EdgeIndex> offsets;
    std::size_t next = 0;
    for (std::int64_t r = 0; r < rows_of_part_; ++r) {
      offsets.push_back(block_.offsets[next]);
      if (next < rows_.size() && rows_[next] == r) ++next;
    }
    offsets.push_back(block_.nnz());
    block_.offsets = std::move(offsets);
    block_.rows = rows_of_part_;
  }

  std::int64_t rows_of_part_;
  Csr block_;
  std::vector<Vertex> rows_;
  std::vector<float> values_;
};

}  // namespace

std::size_t LayerGraphs::at_layer(int layer) { return at(layer) - 1; }

LayerGraphs::LayerGraphs(HeldRows rows, const ModelConfig& model, const TileLayout& layout,
                         const Settings& settings)
    : layout_(layout),
      settings_(settings),
      weighting_(weighting_of(model, rows.symmetric)),
      graph_(std::move(rows)),
      draws_(at(layout.row_parts)),
      neighbours_(at(settings.layers), 0),
      needed_(at(settings.layers) * at(layout.row_parts) * at(layout.row_parts), 0) {
  if (settings.fanout != kAllNeighbours && settings.fanout < 1)
    throw ConfigError(
        "inference.fanout",
        fmt::format("found {}, expected -1 (all neighbours) or at least 1", settings.fanout));
  const bool whole = graph_.rows.count == graph_.vertices;
  ORRERY_ASSERT(whole || (settings.only_part && settings.add_up &&
                          layout.rows(*settings.only_part) == graph_.rows));
  for (int p = 0; p < layout.row_parts; ++p) {
    const bool kept = settings.only_part.value_or(p) == p;
    if (!whole && !kept) continue;
    Draws drawn = draw(p);
    count(p, drawn);
    if (kept) draws_[at(p)] = std::move(drawn);
  }
  if (whole) return;
  std::vector<std::int64_t> counts = neighbours_;
  counts.insert(counts.end(), needed_.begin(), needed_.end());
  counts.push_back(alike_ ? 0 : 1);
  settings.add_up(counts);
  const auto needed = counts.begin() + settings.layers;
  neighbours_.assign(counts.begin(), needed);
  needed_.assign(needed, counts.end() - 1);
  alike_ = counts.back() == 0;
}

LayerGraphs::Draws LayerGraphs::draw(int part) const {
  Draws drawn;
  if (settings_.fanout == kAllNeighbours) return drawn;
  const Share rows = layout_.rows(part);
  const auto fanout = static_cast<std::uint32_t>(settings_.fanout);
  const std::int64_t each = std::int64_t{settings_.layers} * settings_.fanout;
  std::int64_t places = 0;
  for (std::int64_t v = rows.first; v < rows.end(); ++v) {
    const bool all = graph_.degree(v) <= settings_.fanout;
    drawn.first.push_back(all ? -1 : places);
    if (!all) places += each;
  }
  drawn.places.resize(at(places));
  const std::uint64_t seed = RowDraws::seed_of({settings_.seed, 0, 0});
  parallel_for(rows.count, kRowBlock, [&](std::int64_t begin, std::int64_t end) {
    RowPicks picks;
    RowPicks::Positions positions;
    for (std::int64_t i = begin; i < end; ++i) {
      if (drawn.first[at(i)] < 0) continue;
      auto* into = drawn.places.data() + drawn.first[at(i)];
      const std::int64_t v = rows.first + i;
      const auto length = static_cast<std::uint32_t>(graph_.degree(v));
      for (int layer = 1; layer <= settings_.layers; ++layer) {
        positions.clear();
        picks.distinct(RowDraws(seed, static_cast<std::uint32_t>(layer), static_cast<Vertex>(v)), 0,
                       length, fanout, positions);
        std::sort(positions.begin(), positions.end());
        into = std::transform(positions.begin(), positions.end(), into, [](EdgeIndex position) {
          return static_cast<std::uint32_t>(position);
        });
      }
    }
  });
  return drawn;
}

void LayerGraphs::count(int part, const Draws& draws) {
  const Share rows = layout_.rows(part);
  if (!draws.places.empty()) alike_ = false;
  parallel_for(settings_.layers, 1, [&](std::int64_t l, std::int64_t) {
    const int layer = static_cast<int>(l) + 1;
    std::vector<bool> seen(at(layout_.vertices));
    std::vector<Vertex> row;
    auto* needed = needed_.data() + (l * layout_.row_parts + part) * layout_.row_parts;
    for (std::int64_t v = rows.first; v < rows.end(); ++v) {
      neighbours_of(draws, rows, layer, v, row);
      neighbours_[at(l)] += static_cast<std::int64_t>(row.size());
      for (const Vertex u : row) {
        if (rows.contains(u) || seen[at(u)]) continue;
        seen[at(u)] = true;
        ++needed[layout_.part_of_vertex(u)];
      }
    }
  });
}

void LayerGraphs::neighbours_of(const Draws& draws, const Share& rows, int layer, std::int64_t v,
                                std::vector<Vertex>& into) const {
  const auto row = graph_.row(v);
  into.clear();
  const std::int64_t first = draws.first.empty() ? -1 : draws.first[at(v - rows.first)];
  if (first < 0) {
    into.assign(row.begin(), row.end());
    return;
  }
  const auto* places = draws.places.data() + first + (layer - 1) * settings_.fanout;
  for (int i = 0; i < settings_.fanout; ++i) into.push_back(row[places[i]]);
}

std::int64_t LayerGraphs::needed(int layer, int by, int of) const {
  const std::size_t parts = at(layout_.row_parts);
  return needed_[(at_layer(layer) * parts + at(by)) * parts + at(of)];
}

std::vector<FetchRound> LayerGraphs::rounds(int layer, int part,
                                            std::int64_t rows_per_group) const {
  const int parts = layout_.row_parts;
  const auto asked_by = [&](int p, int shift) { return needed(layer, p, (p + shift) % parts); };
  std::vector<FetchRound> list;
  for (int shift = 1; shift < parts; ++shift) {
    std::int64_t most = 0;
    for (int p = 0; p < parts; ++p)
      most = std::max(most, groups_of(asked_by(p, shift), rows_per_group));
    const std::int64_t asks = asked_by(part, shift),
                       serves = asked_by((part + parts - shift) % parts, shift);
    for (std::int64_t t = 0; t < most; ++t)
      list.push_back({shift, rows_of_group(asks, rows_per_group, t),
                      rows_of_group(serves, rows_per_group, t)});
  }
  return list;
}

PartRows LayerGraphs::cut(int layer, int part, std::int64_t rows_per_group) const {
  ORRERY_ASSERT(settings_.only_part.value_or(part) == part);
  const Share rows = layout_.rows(part);
  const Draws& draws = draws_[at(part)];
  std::vector<Vertex> row;

  // Where each row of x stands among those that are fetched of its owner.
  std::vector<Vertex> place(at(layout_.vertices), -1);
  for (std::int64_t v = rows.first; v < rows.end(); ++v) {
    neighbours_of(draws, rows, layer, v, row);
    for (const Vertex u : row)
      if (!rows.contains(u)) place[at(u)] = 0;
  }
  const int parts = layout_.row_parts;
  std::vector<std::size_t> first_group(at(parts), 0);  // of each owner
  auto numbers = std::make_shared<std::vector<Vertex>>();
  PartRows made;
  for (int shift = 1; shift < parts; ++shift) {
    const int owner = (part + shift) % parts;
    const Share theirs = layout_.rows(owner);
    const auto first = static_cast<std::int64_t>(numbers->size());
    for (std::int64_t u = theirs.first; u < theirs.end(); ++u) {
      if (place[at(u)] < 0) continue;
      place[at(u)] = static_cast<Vertex>(static_cast<std::int64_t>(numbers->size()) - first);
      numbers->push_back(static_cast<Vertex>(u - theirs.first));
    }
    first_group[at(owner)] = made.groups.size();
    const std::int64_t count = static_cast<std::int64_t>(numbers->size()) - first;
    for (std::int64_t t = 0; t < groups_of(count, rows_per_group); ++t)
      made.groups.push_back({shift,
                             first + t * rows_per_group,
                             rows_of_group(count, rows_per_group, t),
                             nullptr,
                             {}});
  }
  made.numbers = std::move(numbers);

  RowBuilder local(rows.count, rows.count);
  std::vector<GroupBuilder> blocks;
  for (const RemoteGroup& group : made.groups) blocks.emplace_back(rows.count, group.count);
  const auto length = [&](std::int64_t v) {
    return static_cast<double>(graph_.degree(v) + (weighting_.loops ? 1 : 0));
  };
  for (std::int64_t v = rows.first; v < rows.end(); ++v) {
    neighbours_of(draws, rows, layer, v, row);
    const double own = length(v);
    if (weighting_.loops) local.add(static_cast<Vertex>(v - rows.first), weighting_(own, own));
    const double times = static_cast<double>(graph_.degree(v)) /
                         static_cast<double>(std::max<std::size_t>(1, row.size()));
    for (const Vertex u : row) {
      const auto value = static_cast<float>(times * weighting_(own, length(u)));
      if (rows.contains(u)) {
        local.add(static_cast<Vertex>(u - rows.first), value);
        continue;
      }
      const std::int64_t i = place[at(u)];
      const auto group = first_group[at(layout_.part_of_vertex(u))] + at(i / rows_per_group);
      blocks[group].add(static_cast<Vertex>(v - rows.first),
                        static_cast<Vertex>(i % rows_per_group), value);
    }
    local.end_row();
  }
  made.local = local.finish();
  for (std::size_t g = 0; g < blocks.size(); ++g) blocks[g].finish(made.groups[g]);
  return made;
}

}  // namespace orrery
