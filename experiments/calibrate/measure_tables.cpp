#include "experiments/calibrate/measure_tables.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/base/rng.hpp"
#include "core/graph/generate/generate.hpp"
#include "core/graph/reorder.hpp"
#include "core/graph/reuse.hpp"
#include "core/graph/skew.hpp"
#include "experiments/calibrate/op_builders.hpp"
#include "sim/price/price_point.hpp"
#include "sim/price/price_table.hpp"

namespace orrery::calibrate {
namespace {

/// A point to time: one of a table, or one left out of it.
struct Point {
  std::string key;
  std::vector<double> at;  ///< by axis, threads last
  BuildOps build;
  std::vector<double> seconds;  ///< of each pass
  double least() const { return *std::min_element(seconds.begin(), seconds.end()); }
  /// The difference of the first two measurements.
  double doubt() const {
    return seconds.size() < 2 ? 0 : std::abs(std::log(seconds[1] / seconds[0]));
  }
};

/// Points whose two measurements differ by more than this are measured a third time.
constexpr double kDoubt = 0.2;

int left_out_points(const std::string& key, Effort effort) {
  if (effort == Effort::tiny) return 1;
  return effort == Effort::full && (key == "spmm" || key.starts_with("gemm")) ? 16 : 8;
}

/// All points of a grid in row-major order, threads varying fastest.
std::vector<std::vector<double>> all_points(const std::vector<sim::PriceTable::Axis>& axes) {
  std::vector<std::vector<double>> points{{}};
  for (const sim::PriceTable::Axis& axis : axes) {
    std::vector<std::vector<double>> longer;
    for (const auto& point : points)
      for (const double value : axis.points) {
        longer.push_back(point);
        longer.back().push_back(value);
      }
    points = std::move(longer);
  }
  return points;
}

Sizes sizes_of(const std::vector<sim::PriceTable::Axis>& axes, const std::vector<double>& at) {
  Sizes sizes;
  for (std::size_t a = 0; a < axes.size(); ++a) sizes[axes[a].name] = at[a];
  return sizes;
}

/// A random point between the smallest and the largest of every axis, in whole numbers; every other
/// width is a multiple of 8, like hidden layers.
std::vector<double> random_point(const std::vector<sim::PriceTable::Axis>& axes, Sequence& draw) {
  std::vector<double> at;
  for (const sim::PriceTable::Axis& axis : axes) {
    const double low = axis.points.front(), high = axis.points.back();
    double value =
        std::round(std::max(1.0, low) * std::pow(high / std::max(1.0, low), draw.uniform()));
    if (axis.name == "threads") value = axis.points[draw.below(axis.points.size())];
    if (axis.name == "n16") value = 16 * std::round(value / 16);
    if (axis.name == "width" && draw.below(2) == 0)
      value = 8 * std::max(1.0, std::round(value / 8));
    if (axis.name == "ragged") value = std::fmod(at.back(), 8) == 0 ? 1 : 2;  // behind the width
    at.push_back(value);
  }
  return at;
}

struct NaturalGraph {
  std::shared_ptr<const Csr> pattern;
  std::int64_t width;
};

/// Graphs unlike those of the grid: with hubs, in order of communities, both.
std::vector<NaturalGraph> natural_graphs(double scale) {
  std::vector<NaturalGraph> graphs;
  const auto add = [&](const std::string& generator, std::int64_t vertices, std::int64_t edges,
                       const char* order, std::initializer_list<std::int64_t> widths) {
    DatasetOptions options;
    options.generator = generator;
    options.generate_vertices = std::llround(scale * static_cast<double>(vertices));
    options.generate_edges = std::llround(scale * static_cast<double>(edges));
    options.mixing = 0.1;
    const Csr graph = *generate(options).graph;
    const auto pattern = std::make_shared<const Csr>(
        order == nullptr ? graph : permute(graph, vertex_order(graph, order)));
    for (const std::int64_t width : widths) graphs.push_back({pattern, width});
  };
  add("rmat", 16384, 131072, nullptr, {16, 128});
  add("rmat", 131072, 1048576, nullptr, {16, 128});
  add("chung-lu", 65536, 262144, nullptr, {32, 128});
  add("communities", 32768, 262144, "communities", {32, 128});
  add("communities", 131072, 524288, "bfs", {16, 64});
  return graphs;
}

/// Its point in a grid of sparse products.
std::vector<double> point_of(const NaturalGraph& graph,
                             const std::vector<sim::PriceTable::Axis>& axes, double threads) {
  Sparse a{0, {graph.pattern->rows, graph.pattern->cols}, graph.pattern->nnz()};
  a.reuse = static_cast<float>(column_reuse(*graph.pattern));
  a.skew = row_skew(*graph.pattern);
  const auto matrix = [&](std::int64_t rows) {
    return Tensor{.id = 0, .shape = {rows, graph.width}, .ld = graph.width};
  };
  const sim::PricePoint point =
      sim::price_point(SpMM{a, std::nullopt, matrix(a.shape.cols), matrix(a.shape.rows), 0});
  std::vector<double> at;
  for (const sim::PriceTable::Axis& axis : axes)
    at.push_back(axis.name == "threads" ? threads : point.at(axis.name).value());
  return at;
}

class Measurement {
 public:
  Measurement(const TableBench& bench, Effort effort) : bench_(bench), effort_(effort) {
    for (const Grid& grid : bench.grids) add(grid);
    const auto spmm = std::find_if(grids_.begin(), grids_.end(),
                                   [](const Grid& grid) { return grid.key == "spmm"; });
    const std::vector<double> threads = thread_points(bench.cores);
    std::size_t i = 0;
    for (const NaturalGraph& graph : natural_graphs(bench.graph_scale))
      left_out_.push_back({"spmm",
                           point_of(graph, spmm->axes, threads[i++ % threads.size()]),
                           build_product(graph.pattern, graph.width),
                           {}});
  }

  /// Times every point once more, or only those whose two measurements differ much; points of equal
  /// threads run together.
  void pass(const Report& report, double from, double share, bool doubtful_only = false) {
    const std::vector<double> teams = thread_points(bench_.cores);
    std::size_t before = 0;
    const auto all = static_cast<double>(points_.size() + left_out_.size());
    for (const double threads : teams) {
      std::vector<Point*> here;
      for (auto* list : {&points_, &left_out_})
        for (Point& p : *list)
          if (p.at.back() == threads && (!doubtful_only || p.doubt() > kDoubt)) here.push_back(&p);
      if (here.empty()) continue;
      std::vector<BuildOps> cases;
      for (const Point* p : here) cases.push_back(p->build);
      const Team team{std::max(1, bench_.cores / static_cast<int>(threads)),
                      static_cast<int>(threads)};
      const auto seconds = bench_.time(team, cases, [&](std::size_t done) {
        report(from + share * static_cast<double>(before + done) / all,
               fmt::format("{} (ranks x threads: {} x {})", here[done - 1]->key, team.ranks,
                           team.threads));
      });
      for (std::size_t i = 0; i < here.size(); ++i) here[i]->seconds.push_back(seconds[i]);
      before += here.size();
    }
  }

  std::map<std::string, MeasuredTable> tables() const {
    std::map<std::string, MeasuredTable> tables;
    for (const Grid& grid : grids_) tables[grid.key].table.axes = grid.axes;
    for (const Point& p : points_) {
      MeasuredTable& t = tables.at(p.key);
      t.table.seconds.push_back(p.least());
      t.repeat_error += p.doubt();
      ++t.points;
    }
    std::map<std::string, int> counts;
    for (const Point& p : left_out_) {
      MeasuredTable& t = tables.at(p.key);
      const double error = std::abs(sim::interpolate(t.table, p.at) / p.least() - 1);
      t.table.fit_error += error;
      t.worst_fit_error = std::max(t.worst_fit_error, error);
      ++counts[p.key];
    }
    for (auto& [key, t] : tables) {
      t.repeat_error /= static_cast<double>(t.points);
      t.table.fit_error /= counts.at(key);
    }
    return tables;
  }

 private:
  void add(Grid grid) {
    grid.axes.push_back({"threads", thread_points(bench_.cores)});
    for (auto& at : all_points(grid.axes)) points_.push_back(point(grid, std::move(at)));
    Sequence draw(points_.size(), Purpose::features, 1);
    for (int i = 0; i < left_out_points(grid.key, effort_); ++i)
      left_out_.push_back(point(grid, random_point(grid.axes, draw)));
    grids_.push_back(std::move(grid));
  }
  static Point point(const Grid& grid, std::vector<double> at) {
    BuildOps build = build_ops(grid.key, sizes_of(grid.axes, at));
    return {grid.key, std::move(at), std::move(build), {}};
  }

  const TableBench& bench_;
  Effort effort_;
  std::vector<Grid> grids_;
  std::vector<Point> points_, left_out_;
};

TimingOptions cpu_timing(Effort effort) {
  if (effort == Effort::full) return {};
  if (effort == Effort::quick) return {.round_seconds = 1e-3, .most_calls = 10};
  return {.round_seconds = 1e-4,
          .most_calls = 5,
          .rounds = 2,
          .workspace_bytes = std::int64_t{32} << 20};
}

}  // namespace

std::map<std::string, MeasuredTable> measure_tables(const TableBench& bench, Effort effort,
                                                    const Report& report) {
  const auto begin = std::chrono::steady_clock::now();
  Measurement measurement(bench, effort);
  if (effort != Effort::full) {
    measurement.pass(report, 0, 1);
    return measurement.tables();
  }
  measurement.pass(report, 0, 0.5);
  const std::chrono::duration<double> once = std::chrono::steady_clock::now() - begin;
  if (once.count() > bench.pass_seconds) return measurement.tables();
  measurement.pass(report, 0.5, 0.4);
  measurement.pass(report, 0.9, 0.1, true);
  return measurement.tables();
}

TableBench cpu_bench(Effort effort, int cores) {
  TableBench bench;
  bench.grids = grids(effort);
  if (effort == Effort::quick) bench.graph_scale = 1.0 / 4;
  if (effort == Effort::tiny) bench.graph_scale = 1.0 / 64;
  bench.cores = cores;
  bench.time = [timing = cpu_timing(effort)](const Team& team, const std::vector<BuildOps>& cases,
                                             const std::function<void(std::size_t)>& done) {
    return time_ops(team, cases, timing, done);
  };
  return bench;
}

}  // namespace orrery::calibrate
