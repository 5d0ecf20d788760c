#include "core/inference/located_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/inference/fetched_rows.hpp"
#include "core/runtime/read_files.hpp"

namespace orrery {
namespace {

using Counts64 = std::vector<std::int64_t>;

std::shared_ptr<const Counts64> shared(Counts64 counts) {
  return std::make_shared<const Counts64>(std::move(counts));
}

std::int64_t sum(const Counts64& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

/// The number of every vertex's row among its reader's rows, which are sorted by vertex.
std::vector<Vertex> rows_at_readers(const LocatedInput& input) {
  std::vector<Vertex> row(at(input.layout.vertices)), next(at(input.layout.ranks()), 0);
  for (std::int64_t v = 0; v < input.layout.vertices; ++v)
    row[at(v)] = next[at(input.reader_of(static_cast<Vertex>(v)))]++;
  return row;
}

/// The columns of layer 1's rows of A of a part, as vertices, with their entries.
struct Entry {
  Vertex column;
  float value;
};
std::vector<std::vector<Entry>> rows_of(const PartRows& cut, const TileLayout& layout, int part) {
  std::vector<std::vector<Entry>> rows(at(cut.local.rows()));
  const auto add = [&](const SparseMatrix& block, const auto& row, const auto& vertex) {
    const Csr& csr = block.csr();
    for (std::int64_t r = 0; r < csr.rows; ++r) {
      const auto columns = csr.row(r);
      const auto values = block.row_values(r);
      for (std::size_t i = 0; i < columns.size(); ++i)
        rows[at(row(r))].push_back({vertex(columns[i]), values[i]});
    }
  };
  const auto as_it_is = [](std::int64_t r) { return r; };
  const std::int64_t own = layout.rows(part).first;
  add(cut.local, as_it_is, [&](Vertex c) { return static_cast<Vertex>(own + c); });
  for (const RemoteGroup& group : cut.groups) {
    const auto& numbers = *cut.numbers.numbers();
    const std::int64_t first = layout.rows((part + group.shift) % layout.row_parts).first;
    const auto vertex = [&](Vertex c) {
      return static_cast<Vertex>(first + numbers[at(group.first + c)]);
    };
    if (group.rows)
      add(
          group.block, [&](std::int64_t r) { return (*group.rows->numbers())[at(r)]; }, vertex);
    else
      add(group.block, as_it_is, vertex);
  }
  return rows;
}

/// The distinct columns of these rows, by reader, then ascending: the order of the requests.
std::vector<Vertex> asked_columns(const std::vector<std::vector<Entry>>& rows,
                                  const LocatedInput& input) {
  std::vector<bool> met(at(input.layout.vertices), false);
  for (const auto& row : rows)
    for (const Entry& entry : row) met[at(entry.column)] = true;
  std::vector<Vertex> columns;
  for (std::int64_t v = 0; v < input.layout.vertices; ++v)
    if (met[at(v)]) columns.push_back(static_cast<Vertex>(v));
  std::stable_sort(columns.begin(), columns.end(),
                   [&](Vertex a, Vertex b) { return input.reader_of(a) < input.reader_of(b); });
  return columns;
}

std::int64_t rounds_for(std::int64_t rows, std::int64_t rows_per_group) {
  return rows == 0 ? 0 : (rows - 1) / rows_per_group + 1;
}

/// How many of these rows are in group g.
std::int64_t rows_in_group(std::int64_t rows, std::int64_t rows_per_group, std::int64_t g) {
  return std::clamp<std::int64_t>(rows - g * rows_per_group, 0, rows_per_group);
}

/// Rows of x that a part of a counted graph meets in layer 1, its own rows included.
std::int64_t columns_met(const LayerGraphs& graphs, int part) {
  const PartRows cut = graphs.cut(1, part, std::numeric_limits<Vertex>::max());
  const Share own = graphs.layout().rows(part);
  return cut.numbers.size() + graphs.expected_columns(own, own);
}

/// Every rank reads rows of every part in proportion to the part. The sums are exact.
void count_places(LocatedInput& input) {
  const TileLayout& layout = input.layout;
  std::int64_t dealt = 0;  // rows are dealt to the ranks in turn, part by part
  for (int part = 0; part < layout.row_parts; ++part) {
    const std::int64_t rows = layout.rows(part).count;
    for (int r = 0; r < layout.ranks(); ++r) {
      const auto up_to = [&](std::int64_t end) {
        return (end + layout.ranks() - 1 - r) / layout.ranks();
      };
      input.of_part[at(r) * at(layout.row_parts) + at(part)] = up_to(dealt + rows) - up_to(dealt);
    }
    dealt += rows;
  }
}

/// Whether operations are executed. For a recording there is nothing to read.
bool has_values(Runtime& rt) {
  const Buffer one(rt, {1, 1}, DType::f32, "scratch/a number");
  rt.submit(Lane::copy, Fill{one.tensor(), 1});
  return rt.scalar(Lane::copy, one.tensor()).has_value();
}

}  // namespace

void read_places(Runtime& rt, const std::shared_ptr<const FeatureFiles>& files,
                 const Share& places) {
  if (places.count == 0) return;
  const Task read = rt.host(Lane::host, [files, places, real = has_values(rt)] {
    if (real) files->fetch(places.first, places.count);
    const auto width = files->width() * static_cast<std::int64_t>(sizeof(float));
    return HostWork{std::string(kReadFiles), places.count, places.count * width, 1};
  });
  rt.join(read);
}

int LocatedInput::reader_of(Vertex vertex) const {
  const TileLayout places_of_ranks{layout.vertices, layout.ranks(), 1};
  return places_of_ranks.part_of_vertex(files->place_of(vertex));
}

std::shared_ptr<const LocatedInput> locate_input(
    std::shared_ptr<const FeatureFiles> files, const LayerGraphs& graphs,
    const InferenceConfig& config, bool sums_first, std::optional<int> only_part,
    const std::function<void(std::vector<std::int64_t>&)>& add_up) {
  auto input = std::make_shared<LocatedInput>();
  input->layout = graphs.layout();
  input->files = std::move(files);
  const TileLayout& layout = input->layout;
  const int parts = layout.row_parts, ranks = layout.ranks();
  input->of_part.assign(at(ranks) * at(parts), 0);
  if (input->files->is_counted())
    count_places(*input);
  else
    for (std::int64_t v = 0; v < layout.vertices; ++v)
      ++input->of_part[at(input->reader_of(static_cast<Vertex>(v))) * at(parts) +
                       at(layout.part_of_vertex(v))];
  if (!sums_first || config.preparation != Preparation::fused) return input;

  // The first share is the widest: all shares of a part have the same groups.
  input->rows_per_group =
      rows_that_fit(config.group_bytes, layout.columns(input->files->width(), 0).count);
  std::vector<std::vector<Vertex>> asked(at(parts));
  std::vector<std::int64_t> rounds(at(parts), 0);
  for (int part = 0; part < parts; ++part) {
    if (only_part && part != *only_part) continue;
    if (input->files->is_counted()) {
      rounds[at(part)] = rounds_for(columns_met(graphs, part), input->rows_per_group);
      continue;
    }
    asked[at(part)] = asked_columns(
        rows_of(graphs.cut(1, part, std::numeric_limits<Vertex>::max()), layout, part), *input);
    rounds[at(part)] = rounds_for(std::ssize(asked[at(part)]), input->rows_per_group);
  }
  if (add_up) add_up(rounds);
  const std::int64_t most = *std::max_element(rounds.begin(), rounds.end());
  input->needed.assign(at(most * parts * ranks), 0);
  for (int part = 0; part < parts; ++part) {
    if (input->files->is_counted()) {
      const std::int64_t met = columns_met(graphs, part);
      for (std::int64_t g = 0; g < most; ++g)
        for (int r = 0; r < ranks; ++r)
          input->needed[at((g * parts + part) * ranks + r)] =
              share_of(rows_in_group(met, input->rows_per_group, g), ranks, r).count;
    }
    for (std::size_t i = 0; i < asked[at(part)].size(); ++i) {
      const auto round = static_cast<std::int64_t>(i) / input->rows_per_group;
      ++input->needed[at((round * parts + part) * ranks + input->reader_of(asked[at(part)][i]))];
    }
  }
  if (add_up) add_up(input->needed);
  return input;
}

LocatedRows::LocatedRows(Runtime& rt, const LocatedInput& input, const LayerGraphs& graphs,
                         std::shared_ptr<const Features> features, int column_tiles)
    : rt_(rt), input_(input), graphs_(graphs), column_tiles_(column_tiles) {
  const Share places = input.places(rt.rank());
  Source read = Unknown{"features"}, order = Unknown{"indices"};
  if (!input.files->is_counted()) {
    auto vertices = std::make_shared<std::vector<Vertex>>();
    for (std::int64_t place = places.first; place < places.end(); ++place)
      vertices->push_back(input.files->vertex_at(place));
    std::sort(vertices->begin(), vertices->end());
    read = FeatureRows{std::move(features), std::move(vertices), 0};
    order = IndexArray{std::make_shared<const std::vector<Vertex>>(order_of_rows())};
  }
  rows_ = Buffer(rt, {places.count, input.files->width()}, DType::f32, "features/as they lie");
  read_places(rt, input.files, places);
  if (places.count > 0) rt.submit(Lane::copy, Load{std::move(read), rows_.tensor()});

  const Share rows = input.layout.rows(part());
  order_ = Buffer(rt, {rows.count, 1}, DType::i32, "indices/order of rows that come");
  if (rows.count > 0) rt.submit(Lane::copy, Load{std::move(order), order_.tensor()});
  for (const Lane lane : {Lane::compute, Lane::comm}) rt.wait(lane, rt.record(Lane::copy));
}

/// Rows come by reader, and by vertex from each reader.
std::vector<Vertex> LocatedRows::order_of_rows() const {
  std::vector<Vertex> first(at(input_.layout.ranks()), 0), order;
  for (int r = 0; r + 1 < input_.layout.ranks(); ++r)
    first[at(r) + 1] = static_cast<Vertex>(
        first[at(r)] + input_.of_part[at(r) * at(input_.layout.row_parts) + at(part())]);
  const Share rows = input_.layout.rows(part());
  for (std::int64_t v = rows.first; v < rows.end(); ++v)
    order.push_back(first[at(input_.reader_of(static_cast<Vertex>(v)))]++);
  return order;
}

Tensor LocatedRows::placeholder() const {
  const std::int64_t columns = input_.layout.columns(input_.files->width(), share()).count;
  return {std::numeric_limits<std::uint32_t>::max(),
          {part_rows(), columns},
          DType::f32,
          Space::device,
          0,
          columns};
}

void LocatedRows::redistribute(const Tensor& y) { send_to_tiles(rows_.tensor(), y, 0); }

void LocatedRows::transform(const Tensor& w, const Tensor& y, float beta) {
  const Buffer whole(rt_, {rows_.tensor().rows(), w.cols()}, DType::f32,
                     "scratch/rows multiplied where they lie");
  if (whole.tensor().rows() > 0) rt_.submit(Lane::compute, Gemm{rows_.tensor(), w, whole.tensor()});
  send_to_tiles(whole.tensor(), y, beta);
}

void LocatedRows::send_to_tiles(const Tensor& whole, const Tensor& y, float beta) {
  const TileLayout& layout = input_.layout;
  const int parts = layout.row_parts, shares = layout.column_parts, ranks = layout.ranks();
  for (int k = 0; k < shares; ++k) {
    const Share columns = layout.columns(whole.cols(), k);
    if (columns.count == 0) continue;
    const bool mine = k == share();
    Counts64 send(at(ranks), 0), receive(at(ranks), 0);
    for (int p = 0; p < parts; ++p)
      send[at(layout.rank_of(p, k))] = input_.of_part[at(rt_.rank()) * at(parts) + at(p)];
    for (int r = 0; mine && r < ranks; ++r)
      receive[at(r)] = input_.of_part[at(r) * at(parts) + at(part())];
    const Buffer out(rt_, {whole.rows(), columns.count}, DType::f32, "scratch/columns that go out"),
        in(rt_, {mine ? part_rows() : 0, columns.count}, DType::f32, "scratch/rows that come in");
    if (whole.rows() > 0)
      rt_.submit(Lane::compute, Copy{whole.cols_at(columns.first, columns.count), out.tensor()});
    rt_.wait(Lane::comm, rt_.record(Lane::compute));
    rt_.submit(Lane::comm, AllToAllV{out.tensor(), in.tensor(), shared(std::move(send)),
                                     shared(std::move(receive)), everyone()});
    rt_.wait(Lane::compute, rt_.record(Lane::comm));
    if (!mine || y.shape.size() == 0) continue;
    if (beta == 0) {
      rt_.submit(Lane::compute, GatherRows{in.tensor(), order_.tensor(), y});
    } else {
      const Buffer ordered(rt_, y.shape, DType::f32, "scratch/rows in order");
      rt_.submit(Lane::compute, GatherRows{in.tensor(), order_.tensor(), ordered.tensor()});
      rt_.submit(Lane::compute, Copy{ordered.tensor(), y, 1, true});
    }
  }
}

// ---- A·x ---------------------------------------------------------------------------------------

/// For a counted graph: entries fall on the groups in proportion to their rows.
void LocatedRows::count_groups() {
  const PartRows cut = graphs_.cut(1, part(), std::numeric_limits<Vertex>::max());
  std::int64_t entries = cut.local.nnz();
  for (const RemoteGroup& group : cut.groups) entries += group.block.nnz();
  const std::int64_t met = columns_met(graphs_, part());
  numbers_ = Buffer(rt_, {met, 1}, DType::i32, "indices/rows to ask for");
  if (met > 0) rt_.submit(Lane::copy, Load{Unknown{"indices"}, numbers_.tensor()});
  for (int g = 0; g < input_.rounds(); ++g) {
    AskedGroup group;
    group.first = g * input_.rows_per_group;
    group.count = rows_in_group(met, input_.rows_per_group, g);
    const auto up_to = [&](std::int64_t row) {
      return std::llround(static_cast<double>(entries) * static_cast<double>(row) /
                          static_cast<double>(std::max<std::int64_t>(1, met)));
    };
    if (group.count > 0) {
      const std::int64_t nnz = up_to(group.first + group.count) - up_to(group.first);
      group.block.emplace(rt_, SparseMatrix{Counts{part_rows(), group.count, nnz, 1}, nullptr},
                          column_tiles_, "rows read elsewhere");
    }
    groups_.push_back(std::move(group));
  }
}

void LocatedRows::load_groups() {
  if (input_.files->is_counted()) {
    count_groups();
    for (const Lane lane : {Lane::comm2, Lane::compute}) rt_.wait(lane, rt_.record(Lane::copy));
    return;
  }
  const auto rows =
      rows_of(graphs_.cut(1, part(), std::numeric_limits<Vertex>::max()), input_.layout, part());
  const auto asked = asked_columns(rows, input_);
  const auto row_at_reader = rows_at_readers(input_);
  auto numbers = std::make_shared<std::vector<Vertex>>();
  std::vector<std::int64_t> position(at(input_.layout.vertices), 0);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    numbers->push_back(row_at_reader[at(asked[i])]);
    position[at(asked[i])] = static_cast<std::int64_t>(i);
  }
  numbers_ = Buffer(rt_, {std::ssize(asked), 1}, DType::i32, "indices/rows to ask for");
  if (!asked.empty()) rt_.submit(Lane::copy, Load{IndexArray{numbers}, numbers_.tensor()});
  for (int g = 0; g < input_.rounds(); ++g) {
    AskedGroup group;
    group.first = g * input_.rows_per_group;
    group.count =
        std::clamp<std::int64_t>(std::ssize(asked) - group.first, 0, input_.rows_per_group);
    if (group.count > 0) {
      RowBuilder block(part_rows(), group.count);
      for (const auto& row : rows) {
        for (const Entry& entry : row) {
          const std::int64_t column = position[at(entry.column)] - group.first;
          if (column >= 0 && column < group.count)
            block.add(static_cast<Vertex>(column), entry.value);
        }
        block.end_row();
      }
      group.block.emplace(rt_, block.finish(), column_tiles_, "rows read elsewhere");
    }
    groups_.push_back(std::move(group));
  }
  for (const Lane lane : {Lane::comm2, Lane::compute}) rt_.wait(lane, rt_.record(Lane::copy));
}

std::int64_t LocatedRows::served(std::size_t g) const {
  std::int64_t rows = 0;
  for (int p = 0; p < input_.layout.row_parts; ++p)
    rows += input_.needed_of(static_cast<int>(g), p, rt_.rank());
  return rows;
}

/// The numbers go to the ranks that have read the rows: once for each share of the columns, from
/// its ranks.
void LocatedRows::send_numbers(std::size_t g, Event free) {
  const TileLayout& layout = input_.layout;
  const AskedGroup& group = groups_[g];
  rt_.wait(Lane::comm2, free);
  for (int k = 0; k < layout.column_parts; ++k) {
    if (layout.columns(input_.files->width(), k).count == 0) continue;
    const bool mine = k == share();
    Counts64 send(at(layout.ranks()), 0), receive(at(layout.ranks()), 0);
    for (int r = 0; mine && r < layout.ranks(); ++r)
      send[at(r)] = input_.needed_of(static_cast<int>(g), part(), r);
    for (int p = 0; p < layout.row_parts; ++p)
      receive[at(layout.rank_of(p, k))] = input_.needed_of(static_cast<int>(g), p, rt_.rank());
    ORRERY_ASSERT(!mine || sum(send) == group.count);
    // Other parts may have more groups: then this one has no rows left to begin at.
    const bool asks = mine && group.count > 0;
    rt_.submit(Lane::comm2,
               AllToAllV{asks ? numbers_.tensor().rows_at(group.first, group.count)
                              : numbers_.tensor().rows_at(0, 0),
                         asked_[g % 2][at(k)].view(served(g), 1), shared(std::move(send)),
                         shared(std::move(receive)), everyone()});
  }
  groups_[g].numbers = rt_.record(Lane::comm2);
}

Event LocatedRows::send_rows(std::size_t g) {
  const TileLayout& layout = input_.layout;
  const std::int64_t rows = served(g);
  rt_.wait(Lane::compute, *groups_[g].numbers);
  for (int k = 0; k < layout.column_parts; ++k) {
    const Share columns = layout.columns(input_.files->width(), k);
    if (columns.count == 0 || rows == 0) continue;
    rt_.submit(Lane::compute, GatherRows{rows_.tensor().cols_at(columns.first, columns.count),
                                         asked_[g % 2][at(k)].view(rows, 1),
                                         sent_[g % 2][at(k)].view(rows, columns.count)});
  }
  const Event gathered = rt_.record(Lane::compute);
  rt_.wait(Lane::comm, gathered);
  for (int k = 0; k < layout.column_parts; ++k) {
    const Share columns = layout.columns(input_.files->width(), k);
    if (columns.count == 0) continue;
    const bool mine = k == share();
    Counts64 send(at(layout.ranks()), 0), receive(at(layout.ranks()), 0);
    for (int p = 0; p < layout.row_parts; ++p)
      send[at(layout.rank_of(p, k))] = input_.needed_of(static_cast<int>(g), p, rt_.rank());
    for (int r = 0; mine && r < layout.ranks(); ++r)
      receive[at(r)] = input_.needed_of(static_cast<int>(g), part(), r);
    rt_.submit(Lane::comm,
               AllToAllV{sent_[g % 2][at(k)].view(rows, columns.count),
                         received_[g % 2].view(mine ? groups_[g].count : 0, columns.count),
                         shared(std::move(send)), shared(std::move(receive)), everyone()});
  }
  groups_[g].rows = rt_.record(Lane::comm);
  return gathered;
}

void LocatedRows::aggregate(const Tensor& y, float beta) {
  load_groups();
  const TileLayout& layout = input_.layout;
  std::int64_t most_served = 0, most_asked = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    most_served = std::max(most_served, served(g));
    most_asked = std::max(most_asked, groups_[g].count);
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(2, groups_.size()); ++i) {
    for (int k = 0; k < layout.column_parts; ++k) {
      const std::int64_t columns = layout.columns(input_.files->width(), k).count;
      asked_[i].emplace_back(rt_, Shape{most_served, 1}, DType::i32, "indices/rows asked for");
      sent_[i].emplace_back(rt_, Shape{most_served, columns}, DType::f32, "groups/rows sent");
    }
    // A rank without columns receives nothing, and takes part in the work of others.
    const std::int64_t widest = layout.columns(input_.files->width(), 0).count;
    received_[i] = Buffer(rt_, {most_asked, widest}, DType::f32, "groups/rows received");
  }

  std::array<Event, 2> free{rt_.record(Lane::compute), rt_.record(Lane::compute)};
  for (std::size_t g = 0; g < std::min<std::size_t>(2, groups_.size()); ++g)
    send_numbers(g, free[g]);
  if (!groups_.empty()) free[0] = send_rows(0);
  bool written = false;  // y, by a group before
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (g + 1 < groups_.size()) free[(g + 1) % 2] = send_rows(g + 1);
    if (g + 2 < groups_.size()) send_numbers(g + 2, free[g % 2]);
    rt_.wait(Lane::compute, *groups_[g].rows);
    if (!groups_[g].block || y.shape.size() == 0) continue;
    groups_[g].block->multiply(rt_, received_[g % 2].view(groups_[g].count, y.cols()), y,
                               written ? 1 : beta);
    written = true;
  }
  if (!written && beta == 0 && y.shape.size() > 0) rt_.submit(Lane::compute, Fill{y, 0});
  groups_.clear();
  numbers_ = {};
  for (auto* rooms : {&asked_, &sent_})
    for (auto& room : *rooms) room.clear();
  for (Buffer& room : received_) room = {};
}

}  // namespace orrery
