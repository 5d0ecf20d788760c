#include "core/inference/layer_graphs.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/cache_line.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/sample/draw_key.hpp"
#include "core/sample/row_picks.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kRowBlock = 4096;

/// So many rows ahead the degrees of neighbours are asked for.
constexpr std::int64_t kRowsAhead = 16;
/// A degree of which two bytes say no more than that it is as large.
constexpr std::uint16_t kLong = 65535;

std::int64_t groups_of(std::int64_t rows, std::int64_t rows_per_group) {
  return (rows + rows_per_group - 1) / rows_per_group;
}

/// Rows of group t if `rows` are fetched in groups; none beyond the last.
std::int64_t rows_of_group(std::int64_t rows, std::int64_t rows_per_group, std::int64_t t) {
  return std::clamp<std::int64_t>(rows - t * rows_per_group, 0, rows_per_group);
}

/// A matrix whose rows are counted before they are written where they belong: so several threads
/// write it, and it never takes more memory than it has. `each(begin, end, add)` calls add(column,
/// value) for the length(r, room) entries of each of these rows r, row after row and by ascending
/// column; `room` is a thread's own.
template <class Length, class Each>
SparseMatrix cut_local(std::int64_t rows, std::int64_t cols, const Length& length,
                       const Each& each) {
  auto pattern = std::make_shared<Csr>();
  pattern->rows = rows;
  pattern->cols = cols;
  pattern->offsets.assign(at(rows) + 1, 0);
  parallel_for(rows, kRowBlock, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Vertex> room;
    for (std::int64_t r = begin; r < end; ++r) pattern->offsets[at(r) + 1] = length(r, room);
  });
  std::partial_sum(pattern->offsets.begin(), pattern->offsets.end(), pattern->offsets.begin());
  pattern->columns.resize(at(pattern->offsets.back()));
  auto values = std::make_shared<std::vector<float>>(pattern->columns.size());
  parallel_for(rows, kRowBlock, [&](std::int64_t begin, std::int64_t end) {
    std::size_t e = at(pattern->offsets[at(begin)]);
    each(begin, end, [&](Vertex column, float value) {
      pattern->columns[e] = column;
      (*values)[e++] = value;
    });
  });
  return {std::shared_ptr<const Csr>(std::move(pattern)), std::move(values)};
}

/// A group keeps only the rows that have an entry if there are fewer than one in this many.
constexpr std::int64_t kSparse = 4;

/// Writes the block of a group in which most rows may be empty.
class GroupBuilder {
 public:
  /// `whole`: with all rows, even if few have an entry.
  GroupBuilder(std::int64_t rows_of_part, std::int64_t columns, bool whole)
      : rows_of_part_(rows_of_part), whole_(whole), block_{0, columns, {}, {}} {}
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
    if (whole_ || kSparse * block_.rows >= rows_of_part_)
      spread();
    else
      group.rows = IndexList(std::make_shared<const std::vector<Vertex>>(std::move(rows_)));
    group.block = {std::make_shared<const Csr>(std::move(block_)),
                   std::make_shared<const std::vector<float>>(std::move(values_))};
  }

 private:
  /// Puts the rows at their places in the part, with empty rows between them.
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
  bool whole_;
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
      graph_(std::move(rows)) {
  require_settings();
  shorten_degrees();
  const std::size_t layers = at(settings.layers), parts = at(layout.row_parts);
  drawn_.draws.resize(parts);
  drawn_.neighbours.resize(layers);
  drawn_.needed.resize(layers * parts * parts);
  drawn_.entries.resize(drawn_.needed.size());
  if (settings.lists != RowLists::none) drawn_.wanted.resize(layers * at(layout.ranks()) * parts);
  const bool whole = graph_.rows.count == graph_.vertices;
  ORRERY_ASSERT(whole || (settings.only_part && settings.add_up &&
                          layout.rows(*settings.only_part) == graph_.rows));
  for (int p = 0; p < layout.row_parts; ++p) {
    const bool kept = settings.only_part.value_or(p) == p;
    if (!whole && !kept) continue;
    Draws drawn = draw(p);
    count(p, drawn);
    if (kept) drawn_.draws[at(p)] = std::move(drawn);
  }
  if (whole) return;
  std::vector<std::int64_t> counts{drawn_.alike ? 0 : 1};
  const std::array lists{&drawn_.neighbours, &drawn_.needed, &drawn_.entries, &drawn_.wanted};
  for (const auto* list : lists) counts.insert(counts.end(), list->begin(), list->end());
  settings.add_up(counts);
  drawn_.alike = counts.front() == 0;
  auto next = counts.begin() + 1;
  for (auto* list : lists) {
    const auto end = next + std::ssize(*list);
    list->assign(next, end);
    next = end;
  }
}

LayerGraphs::LayerGraphs(HeldRows rows, const ModelConfig& model, const TileLayout& layout,
                         const Settings& settings, Drawn drawn)
    : layout_(layout),
      settings_(settings),
      weighting_(weighting_of(model, rows.symmetric)),
      graph_(std::move(rows)),
      drawn_(std::move(drawn)) {
  require_settings();
  shorten_degrees();
}

void LayerGraphs::shorten_degrees() {
  if (weighting_.by_columns()) short_degrees_.resize(at(graph_.vertices));
  for (std::size_t v = 0; v < short_degrees_.size(); ++v)
    short_degrees_[v] = static_cast<std::uint16_t>(
        std::min<std::int64_t>(kLong, graph_.degree(static_cast<std::int64_t>(v))));
}

void LayerGraphs::require_settings() const {
  if (settings_.fanout != kAllNeighbours && settings_.fanout < 1)
    throw ConfigError(
        "inference.fanout",
        fmt::format("found {}, expected -1 (all neighbours) or at least 1", settings_.fanout));
}

LayerGraphs::LayerGraphs(const GraphStatistics& graph, const ModelConfig& model,
                         const TileLayout& layout, const Settings& settings)
    : layout_(layout), settings_(settings), weighting_(weighting_of(model, graph.symmetric)) {
  require_settings();
  graph_.vertices = graph.vertices;
  const double mean = static_cast<double>(graph.edges) /
                      static_cast<double>(std::max<std::int64_t>(1, graph.vertices));
  const bool all = settings.fanout == kAllNeighbours || settings.fanout >= mean;
  mean_ = all ? mean : settings.fanout;
  drawn_.alike = all;
}

std::int64_t LayerGraphs::expected_entries(const Share& rows, std::int64_t columns) const {
  return std::llround(*mean_ * static_cast<double>(rows.count) * static_cast<double>(columns) /
                      static_cast<double>(layout_.vertices));
}

std::int64_t LayerGraphs::expected_columns(const Share& rows, const Share& columns) const {
  const Share both{std::max(rows.first, columns.first),
                   std::max<std::int64_t>(0, std::min(rows.end(), columns.end()) -
                                                 std::max(rows.first, columns.first))};
  const std::int64_t loops = weighting_.loops ? both.count : 0;
  const double missed =
      std::pow(1 - static_cast<double>(rows.count) / static_cast<double>(layout_.vertices), *mean_);
  return loops + std::llround(static_cast<double>(columns.count - loops) * (1 - missed));
}

std::int64_t LayerGraphs::neighbours(int layer) const {
  if (mean_) return expected_entries({0, layout_.vertices}, layout_.vertices);
  return drawn_.neighbours[at_layer(layer)];
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
    drawn.number.push_back(all ? -1 : static_cast<Vertex>(places / each));
    if (!all) places += each;
  }
  drawn.places.resize(at(places));
  const std::uint64_t seed = RowDraws::seed_of({settings_.seed, 0, 0});
  parallel_for(rows.count, kRowBlock, [&](std::int64_t begin, std::int64_t end) {
    RowPicks picks;
    RowPicks::Positions positions;
    for (std::int64_t i = begin; i < end; ++i) {
      if (drawn.number[at(i)] < 0) continue;
      auto* into = drawn.places.data() + drawn.number[at(i)] * each;
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
  if (!draws.places.empty()) drawn_.alike = false;
  parallel_for(settings_.layers, 1, [&](std::int64_t l, std::int64_t) {
    const int layer = static_cast<int>(l) + 1;
    std::vector<bool> seen(at(layout_.vertices));
    std::vector<Vertex> row;
    const std::int64_t first = (l * layout_.row_parts + part) * layout_.row_parts;
    if (layout_.row_parts == 1 && settings_.lists == RowLists::none) {
      drawn_.neighbours[at(l)] += entries_of(rows) - (weighting_.loops ? rows.count : 0);
      return;
    }
    auto *needed = drawn_.needed.data() + first, *entries = drawn_.entries.data() + first;
    for (std::int64_t v = rows.first; v < rows.end(); ++v) {
      neighbours_of(draws, rows, layer, v, row);
      drawn_.neighbours[at(l)] += static_cast<std::int64_t>(row.size());
      for (const Vertex u : row) {
        if (rows.contains(u)) continue;
        const int owner = layout_.part_of_vertex(u);
        ++entries[owner];
        if (seen[at(u)]) continue;
        seen[at(u)] = true;
        ++needed[owner];
      }
    }
    if (settings_.lists == RowLists::none) return;
    for (int m = 0; m < layout_.column_parts; ++m)
      count_wanted(layer, layout_.rank_of(part, m), draws);
  });
}

void LayerGraphs::count_wanted(int layer, int rank, const Draws& draws) {
  const Window window = wanted_window(rank);
  const Share rows = layout_.rows(layout_.part_of(rank));
  std::vector<bool> seen(at(layout_.vertices));
  std::vector<Vertex> row;
  auto* wanted = drawn_.wanted.data() +
                 (at_layer(layer) * at(layout_.ranks()) + at(rank)) * at(layout_.row_parts);
  const auto see = [&](std::int64_t u) {
    if (!window.columns.contains(u) || seen[at(u)]) return;
    seen[at(u)] = true;
    ++wanted[layout_.part_of_vertex(u)];
  };
  for (std::int64_t v = window.rows.first; v < window.rows.end(); ++v) {
    if (weighting_.loops) see(v);
    neighbours_of(draws, rows, layer, v, row);
    for (const Vertex u : row) see(u);
  }
}

LayerGraphs::Window LayerGraphs::wanted_window(int rank) const {
  const int part = layout_.part_of(rank), m = layout_.column_of(rank);
  Window window{layout_.rows(part), {0, layout_.vertices}, true};
  if (settings_.lists == RowLists::of_column_slice)
    window.columns = share_of(layout_.vertices, layout_.column_parts, m);
  if (settings_.lists == RowLists::of_row_share) {
    const Share whole = layout_.whole_rows(part, m);
    window.rows = {window.rows.first + whole.first, whole.count};
  }
  return window;
}

std::int64_t LayerGraphs::entries_of(const Share& rows) const {
  std::int64_t entries = weighting_.loops ? rows.count : 0;
  if (mean_) {
    // Between its ends, so that shares of rows add up to their sum.
    const auto up_to = [&](std::int64_t v) { return expected_entries({0, v}, layout_.vertices); };
    return entries + up_to(rows.end()) - up_to(rows.first);
  }
  for (std::int64_t v = rows.first; v < rows.end(); ++v)
    entries += settings_.fanout == kAllNeighbours
                   ? graph_.degree(v)
                   : std::min<std::int64_t>(settings_.fanout, graph_.degree(v));
  return entries;
}

std::int64_t LayerGraphs::wanted(int layer, int by, int of) const {
  if (mean_) {
    const Window window = wanted_window(by);
    const Share theirs = layout_.rows(of);
    const std::int64_t first = std::max(theirs.first, window.columns.first),
                       end = std::min(theirs.end(), window.columns.end());
    return expected_columns(window.rows, {first, std::max<std::int64_t>(0, end - first)});
  }
  ORRERY_ASSERT(!drawn_.wanted.empty());
  return drawn_
      .wanted[(at_layer(layer) * at(layout_.ranks()) + at(by)) * at(layout_.row_parts) + at(of)];
}

std::int64_t LayerGraphs::entries(int layer, int by, int of) const {
  if (mean_) return expected_entries(layout_.rows(by), layout_.rows(of).count);
  const std::size_t parts = at(layout_.row_parts);
  return drawn_.entries[(at_layer(layer) * parts + at(by)) * parts + at(of)];
}

void LayerGraphs::neighbours_of(const Draws& draws, const Share& rows, int layer, std::int64_t v,
                                std::vector<Vertex>& into) const {
  const auto row = graph_.row(v);
  into.clear();
  const std::int64_t number = draws.number.empty() ? -1 : draws.number[at(v - rows.first)];
  if (number < 0) {
    into.assign(row.begin(), row.end());
    return;
  }
  const auto* places =
      draws.places.data() + (number * settings_.layers + layer - 1) * settings_.fanout;
  for (int i = 0; i < settings_.fanout; ++i) into.push_back(row[places[i]]);
}

std::int64_t LayerGraphs::needed(int layer, int by, int of) const {
  if (mean_) return expected_columns(layout_.rows(by), layout_.rows(of));
  const std::size_t parts = at(layout_.row_parts);
  return drawn_.needed[(at_layer(layer) * parts + at(by)) * parts + at(of)];
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

template <class Use>
void LayerGraphs::each_row(const Draws& draws, const Share& rows, int layer, std::int64_t first,
                           std::int64_t end, const Use& use) const {
  std::array<std::vector<Vertex>, kRowsAhead> lists;
  const auto list_of = [&](std::int64_t v) -> auto& { return lists[at(v % kRowsAhead)]; };
  const auto fill = [&](std::int64_t v) {
    neighbours_of(draws, rows, layer, v, list_of(v));
    if (short_degrees_.empty()) return;
    for (const Vertex u : list_of(v)) prefetch(&short_degrees_[at(u)]);
  };
  for (std::int64_t v = first; v < std::min(end, first + kRowsAhead); ++v) fill(v);
  for (std::int64_t v = first; v < end; ++v) {
    use(v, std::as_const(list_of(v)));
    if (v + kRowsAhead < end) fill(v + kRowsAhead);
  }
}

PartRows LayerGraphs::cut(int layer, int part, std::int64_t rows_per_group) const {
  return cut_window(layer, part, {layout_.rows(part), {0, layout_.vertices}, false},
                    rows_per_group);
}

PartRows LayerGraphs::cut_wanted(int layer, int rank, std::int64_t rows_per_group) const {
  return cut_window(layer, layout_.part_of(rank), wanted_window(rank), rows_per_group);
}

PartRows LayerGraphs::cut_window(int layer, int part, const Window& window,
                                 std::int64_t rows_per_group) const {
  if (mean_) return counted_window(part, window, rows_per_group);
  ORRERY_ASSERT(settings_.only_part.value_or(part) == part);
  const Share rows = layout_.rows(part);
  const Draws& draws = drawn_.draws[at(part)];
  std::vector<Vertex> row;
  const auto is_local = [&](Vertex u) { return !window.own && rows.contains(u); };

  // The place of each row of x among those fetched from its owner.
  const bool all_local = !window.own && rows.count == layout_.vertices;
  std::vector<Vertex> place(all_local ? 0 : at(layout_.vertices), -1);
  const auto see = [&](std::int64_t u) {
    if (window.columns.contains(u) && !is_local(static_cast<Vertex>(u))) place[at(u)] = 0;
  };
  for (std::int64_t v = window.rows.first; v < window.rows.end() && !all_local; ++v) {
    if (weighting_.loops) see(v);
    neighbours_of(draws, rows, layer, v, row);
    for (const Vertex u : row) see(u);
  }
  const int parts = layout_.row_parts;
  std::vector<std::size_t> first_group(at(parts), 0);  // of each owner
  auto numbers = std::make_shared<std::vector<Vertex>>();
  PartRows made;
  for (int shift = window.own ? 0 : 1; shift < parts && !all_local; ++shift) {
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
                             std::nullopt,
                             {}});
  }
  made.numbers = IndexList(std::move(numbers));

  std::vector<GroupBuilder> blocks;
  for (const RemoteGroup& group : made.groups)
    blocks.emplace_back(window.rows.count, group.count, window.own);
  const auto length = [&](std::int64_t v) {
    const std::uint16_t known = short_degrees_.empty() ? kLong : short_degrees_[at(v)];
    const std::int64_t degree = known < kLong ? known : graph_.degree(v);
    return static_cast<double>(degree + (weighting_.loops ? 1 : 0));
  };
  const bool by_columns = weighting_.by_columns();
  // add(column, value) for the entries of row v in the window, by ascending column.
  const auto each_entry = [&](std::int64_t v, const std::vector<Vertex>& neighbours,
                              const auto& add) {
    const double own = length(v);
    const double times = static_cast<double>(graph_.degree(v)) /
                         static_cast<double>(std::max<std::size_t>(1, neighbours.size()));
    const auto add_one = [&](Vertex u, float value) {
      if (window.columns.contains(u)) add(u, value);
    };
    const auto self = [&] { add_one(static_cast<Vertex>(v), weighting_(own, own)); };
    bool loop = weighting_.loops;  // still to be added, if it ascends
    for (const Vertex u : neighbours) {
      if (loop && u > v) {
        self();
        loop = false;
      }
      add_one(u, static_cast<float>(times * weighting_(own, by_columns ? length(u) : own)));
    }
    if (loop) self();
  };
  const bool whole_rows = all_local && window.columns.count == layout_.vertices;
  const auto local_entries = [&](std::int64_t r, std::vector<Vertex>& room) {
    const std::int64_t v = window.rows.first + r;
    if (whole_rows) return entries_of({v, 1});
    const auto counts = [&](std::int64_t u) {
      return window.columns.contains(u) && is_local(static_cast<Vertex>(u));
    };
    neighbours_of(draws, rows, layer, v, room);
    return std::int64_t{weighting_.loops && counts(v)} +
           std::count_if(room.begin(), room.end(), counts);
  };
  const auto each_of = [&](std::int64_t first, std::int64_t end, const auto& add) {
    each_row(draws, rows, layer, first, end,
             [&](std::int64_t v, const std::vector<Vertex>& neighbours) {
               each_entry(v, neighbours, [&](Vertex u, float value) { add(v, u, value); });
             });
  };
  made.local = cut_local(window.rows.count, rows.count, local_entries,
                         [&](std::int64_t begin, std::int64_t end, const auto& add) {
                           each_of(window.rows.first + begin, window.rows.first + end,
                                   [&](std::int64_t, Vertex u, float value) {
                                     if (is_local(u))
                                       add(static_cast<Vertex>(u - rows.first), value);
                                   });
                         });
  if (!blocks.empty())
    each_of(window.rows.first, window.rows.end(), [&](std::int64_t v, Vertex u, float value) {
      if (is_local(u)) return;
      const std::int64_t i = place[at(u)];
      const auto group = first_group[at(layout_.part_of_vertex(u))] + at(i / rows_per_group);
      blocks[group].add(static_cast<Vertex>(v - window.rows.first),
                        static_cast<Vertex>(i % rows_per_group), value);
    });
  for (std::size_t g = 0; g < blocks.size(); ++g) blocks[g].finish(made.groups[g]);
  return made;
}

RowLists lists_for(const InferenceConfig& config, bool weighs_edges) {
  if (weighs_edges)
    return config.sddmm == EdgeProduct::duplicated ? RowLists::of_part : RowLists::of_row_share;
  return config.spmm == SparseProduct::two_d ? RowLists::of_column_slice : RowLists::none;
}

PartRows LayerGraphs::counted_window(int part, const Window& window,
                                     std::int64_t rows_per_group) const {
  const int parts = layout_.row_parts;
  const Share rows = layout_.rows(part);
  PartRows made;
  std::int64_t numbers = 0, remote = 0;
  for (int shift = window.own ? 0 : 1; shift < parts; ++shift) {
    const Share theirs = layout_.rows((part + shift) % parts);
    const std::int64_t begin = std::max(theirs.first, window.columns.first),
                       end = std::min(theirs.end(), window.columns.end());
    const Share columns{begin, std::max<std::int64_t>(0, end - begin)};
    const std::int64_t count = expected_columns(window.rows, columns),
                       loops = weighting_.loops && shift == 0
                                   ? std::min(window.rows.count, columns.count)
                                   : 0,
                       entries = loops + expected_entries(window.rows, columns.count);
    // Entries fall on a group in proportion to its rows.
    const auto up_to = [&](std::int64_t row) {
      return std::llround(static_cast<double>(entries) * static_cast<double>(row) /
                          static_cast<double>(std::max<std::int64_t>(1, count)));
    };
    for (std::int64_t t = 0; t < groups_of(count, rows_per_group); ++t) {
      const std::int64_t first = t * rows_per_group, size = rows_of_group(count, rows_per_group, t);
      const std::int64_t nnz = up_to(first + size) - up_to(first);
      // Rows that at least one of the entries falls on.
      const std::int64_t met = std::llround(
          static_cast<double>(window.rows.count) *
          (1 - std::pow(1 - 1 / static_cast<double>(window.rows.count), static_cast<double>(nnz))));
      RemoteGroup group{shift, numbers + first, size, std::nullopt, {}};
      const bool few = !window.own && kSparse * met < window.rows.count;
      if (few) group.rows = IndexList::counted(met);
      group.block = {Counts{few ? met : window.rows.count, size, nnz, 1}, nullptr};
      made.groups.push_back(std::move(group));
    }
    numbers += count;
    remote += count > 0 ? entries : 0;
  }
  made.numbers = IndexList::counted(numbers);
  std::int64_t local = window.own ? 0 : entries_of(window.rows) - remote;
  if (window.own && window.columns.count == layout_.vertices && !made.groups.empty()) {
    // The rest of the rounding is in the first group, so that all of them add up to entries_of().
    auto& first = std::get<Counts>(made.groups.front().block.pattern);
    first.nnz = std::max<std::int64_t>(0, first.nnz + entries_of(window.rows) - remote);
  }
  made.local = {Counts{window.rows.count, rows.count, std::max<std::int64_t>(0, local), 1},
                nullptr};
  return made;
}

PartEdges edges_of(const PartRows& rows) {
  PartEdges made;
  const std::int64_t n = rows.local.rows();
  const std::int64_t own =
      rows.groups.empty() || rows.groups.front().shift > 0 ? rows.local.cols() : 0;
  const std::int64_t columns = own + rows.numbers.size();
  std::int64_t entries = rows.local.nnz();
  for (const RemoteGroup& group : rows.groups) entries += group.block.nnz();
  if (entries > std::numeric_limits<Vertex>::max())
    throw ConfigError(
        "inference.rows",
        fmt::format("a part has {} entries, but weights can be computed for at most 2^31 - 1: "
                    "choose more parts",
                    entries));
  if (std::holds_alternative<Counts>(rows.local.pattern)) {
    made.local = IndexList::counted(rows.local.nnz());
    for (const RemoteGroup& group : rows.groups)
      made.groups.push_back(IndexList::counted(group.block.nnz()));
    made.pattern = Counts{n, columns, entries, 1};
    return made;
  }
  const Csr& local = rows.local.csr();
  const auto row_of = [](const RemoteGroup& group, std::int64_t r) {
    return group.rows ? std::int64_t{(*group.rows->numbers())[at(r)]} : r;
  };
  auto pattern = std::make_shared<Csr>();
  *pattern = {n, columns, std::vector<EdgeIndex>(at(n) + 1, 0), {}};
  const auto each_block = [&](const auto& use) {
    use(local, std::int64_t{0}, -1, [](std::int64_t r) { return r; });
    for (std::size_t g = 0; g < rows.groups.size(); ++g) {
      const RemoteGroup& group = rows.groups[g];
      use(group.block.csr(), own + group.first, static_cast<int>(g),
          [&](std::int64_t r) { return row_of(group, r); });
    }
  };
  each_block([&](const Csr& block, std::int64_t, int, const auto& row) {
    for (std::int64_t r = 0; r < block.rows; ++r)
      pattern->offsets[at(row(r)) + 1] += block.degree(r);
  });
  std::partial_sum(pattern->offsets.begin(), pattern->offsets.end(), pattern->offsets.begin());
  pattern->columns.resize(at(pattern->offsets.back()));
  std::vector<Vertex> of_local;
  std::vector<std::vector<Vertex>> of_groups(rows.groups.size());
  std::vector<EdgeIndex> next(pattern->offsets.begin(), pattern->offsets.end() - 1);
  each_block([&](const Csr& block, std::int64_t first, int group, const auto& row) {
    auto& numbers = group < 0 ? of_local : of_groups[at(group)];
    for (std::int64_t r = 0; r < block.rows; ++r)
      for (const Vertex c : block.row(r)) {
        const EdgeIndex entry = next[at(row(r))]++;
        pattern->columns[at(entry)] = static_cast<Vertex>(first + c);
        numbers.push_back(static_cast<Vertex>(entry));
      }
  });
  const auto listed = [](std::vector<Vertex>& numbers) {
    return IndexList(std::make_shared<const std::vector<Vertex>>(std::move(numbers)));
  };
  made.local = listed(of_local);
  for (auto& numbers : of_groups) made.groups.push_back(listed(numbers));
  made.pattern = std::shared_ptr<const Csr>(std::move(pattern));
  return made;
}

}  // namespace orrery
