#include "experiments/infer/choose_tiles.hpp"

#include <algorithm>
#include <exception>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "experiments/infer/layer_orders.hpp"

namespace orrery {
namespace {

/// The products with the graph that these tiles can tell apart, and that go with the request.
std::vector<SparseProduct> sparse_products_of(const InferenceProblem& problem) {
  const InferenceConfig& config = problem.config;
  std::vector<SparseProduct> all{SparseProduct::ids_then_rows};
  // Computed weights and sums in place always fetch rows.
  if (weighs_edges(problem.model) || config.sum_columns > 0) return all;
  // It moves nothing of a single part, and has no groups to be bounded.
  if (config.rows > 1 && config.group_bytes == 0) all.push_back(SparseProduct::exchange_graph);
  // With one column it receives what ids_then_rows does, and holds more.
  if (config.columns > 1) all.push_back(SparseProduct::two_d);
  return all;
}

/// How numbers of edges are computed: with one column there is only one way.
std::vector<EdgeProduct> edge_products_of(const InferenceProblem& problem) {
  if (!weighs_edges(problem.model) || problem.config.columns == 1) return {EdgeProduct::split};
  return {EdgeProduct::split, EdgeProduct::duplicated};
}

/// With one column nothing is to be reduced.
std::vector<DenseProduct> dense_products_of(const InferenceProblem& problem) {
  if (problem.config.columns == 1) return {DenseProduct::ring};
  return {DenseProduct::ring, DenseProduct::reduce};
}

/// The ways to prepare features: for those in files, every way that fits the product.
std::vector<Preparation> preparations_of(const InferenceProblem& problem) {
  if (!problem.data->feature_files) return {problem.config.preparation};
  std::vector<Preparation> all{Preparation::redistribute, Preparation::scan};
  if (problem.config.spmm == SparseProduct::ids_then_rows && problem.config.sum_columns == 0)
    all.insert(all.begin(), Preparation::fused);
  return all;
}

/// Sets how features are read.
void prepare_by(InferenceProblem& problem, Preparation preparation) {
  problem.config.preparation = preparation;
  if (!problem.data->feature_files) return;
  auto data = std::make_shared<InferenceData>(*problem.data);
  data->features = features_in(*data, problem.config);
  problem.data = std::move(data);
  problem.input = locate_input(problem);
}

/// The ways that were counted.
class Ways {
 public:
  explicit Ways(const std::optional<std::int64_t>& device_bytes) : device_bytes_(device_bytes) {}

  /// Every product with weights, preparation and order on the tiles and graphs of this problem.
  void add_all(const InferenceProblem& problem) {
    for (const DenseProduct gemm : dense_products_of(problem))
      for (const Preparation preparation : preparations_of(problem)) {
        InferenceProblem way = problem;
        way.config.gemm = gemm;
        prepare_by(way, preparation);
        add(way);
      }
  }

  std::vector<TileChoice> best_first() {
    if (choices_.empty() && impossible_) std::rethrow_exception(impossible_);
    const auto rank_of = [](const TileChoice& c) {
      return std::tuple(!c.fits, c.received_bytes + c.file_bytes, c.peak_bytes);
    };
    std::stable_sort(
        choices_.begin(), choices_.end(),
        [&](const TileChoice& a, const TileChoice& b) { return rank_of(a) < rank_of(b); });
    return std::move(choices_);
  }

 private:
  /// A way in each order that may be the best.
  void add(const InferenceProblem& way) {
    try {
      OrderCosts costs(way);
      std::set<std::vector<bool>> seen;
      const auto add_each = [&](const std::vector<LayerOrders>& list) {
        for (const LayerOrders& orders : list)
          if (seen.insert(sums_first_of(way, orders)).second) add(way, orders, costs);
      };
      add_each(named_orders(way));
      add_each(costs.cheapest(device_bytes_));
      add_each(costs.cheapest(std::nullopt));
    } catch (const ConfigError&) {  // such parts cannot be; others can
      if (!impossible_) impossible_ = std::current_exception();
    }
  }
  void add(InferenceProblem way, const LayerOrders& orders, OrderCosts& costs) {
    way.config.order = orders;
    const RankStages stages = fit_groups(way, device_bytes_, [&](const InferenceProblem& problem) {
      return costs.of(orders, problem.config.group_bytes);
    });
    TileChoice choice{way.config, received_bytes_of(stages), feature_file_bytes(way),
                      largest_peak(stages)};
    choice.fits = !device_bytes_ || choice.peak_bytes <= *device_bytes_;
    choices_.push_back(std::move(choice));
  }

  std::optional<std::int64_t> device_bytes_;
  std::vector<TileChoice> choices_;
  std::exception_ptr impossible_;
};

}  // namespace

std::vector<TileChoice> choose_tiles(const InferenceProblem& asked, int ranks,
                                     const std::optional<std::int64_t>& device_bytes) {
  Ways ways{device_bytes};
  for (int rows = 1; rows <= ranks; ++rows) {
    if (ranks % rows != 0 || rows > asked.data->vertices()) continue;
    if (rows < ranks && asked.config.sum_columns > 0)
      continue;  // products in place have whole rows
    InferenceProblem problem = asked;
    problem.config.rows = rows;
    problem.config.columns = ranks / rows;
    for (const EdgeProduct sddmm : edge_products_of(problem))
      for (const SparseProduct spmm : sparse_products_of(problem)) {
        problem.config.sddmm = sddmm;
        problem.config.spmm = spmm;
        problem.graphs = make_graphs(problem);
        ways.add_all(problem);
      }
  }
  return ways.best_first();
}

InferenceProblem laid_out(const InferenceProblem& asked, const TileChoice& choice) {
  InferenceProblem problem = asked;
  problem.config = choice.config;
  problem.graphs = make_graphs(problem);
  prepare_by(problem, choice.config.preparation);
  return problem;
}

}  // namespace orrery
