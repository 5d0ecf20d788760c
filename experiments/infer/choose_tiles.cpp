#include "experiments/infer/choose_tiles.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <set>
#include <tuple>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {
namespace {

/// Orders; no two make all layers do the same.
std::vector<LayerOrder> orders_of(const InferenceProblem& problem) {
  const auto widths =
      widths_of(problem.model, problem.data->features->width(), problem.data->classes);
  std::vector<LayerOrder> orders;
  std::set<std::vector<bool>> seen;
  if (weighs_edges(problem.model)) return {problem.model.order};  // they multiply by W first
  for (const LayerOrder order : {problem.model.order, LayerOrder::automatic,
                                 LayerOrder::aggregate_first, LayerOrder::transform_first}) {
    std::vector<bool> first;
    for (int l = 1; l <= problem.model.layers; ++l)
      first.push_back(problem.model.type == ModelType::resgcn
                          ? transforms_first(order, problem.model.hidden, problem.model.hidden)
                          : transforms_first(order, widths[at(l) - 1], widths[at(l)]));
    if (seen.insert(first).second) orders.push_back(order);
  }
  return orders;
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

TileChoice counted(InferenceProblem problem, const std::optional<std::int64_t>& device_bytes) {
  const RankStages stages = fit_groups(problem, device_bytes, {});
  TileChoice choice{problem.config, problem.model.order, received_bytes_of(stages),
                    feature_file_bytes(problem), largest_peak(stages)};
  choice.fits = !device_bytes || choice.peak_bytes <= *device_bytes;
  return choice;
}

}  // namespace

std::string name_of(LayerOrder order) {
  switch (order) {
    case LayerOrder::automatic:
      return "auto";
    case LayerOrder::aggregate_first:
      return "aggregate_first";
    case LayerOrder::transform_first:
      return "transform_first";
    case LayerOrder::aggregate_both:
      return "aggregate_both";
  }
  return {};
}

std::vector<TileChoice> choose_tiles(const InferenceProblem& asked, int ranks,
                                     const std::optional<std::int64_t>& device_bytes) {
  std::vector<TileChoice> choices;
  std::exception_ptr impossible;
  for (int rows = 1; rows <= ranks; ++rows) {
    const int columns = ranks / rows;
    if (ranks % rows != 0 || rows > asked.data->vertices()) continue;
    if (columns > 1 && asked.config.sum_columns > 0) continue;  // products in place have whole rows
    InferenceProblem problem = asked;
    problem.config.rows = rows;
    problem.config.columns = columns;
    for (const EdgeProduct sddmm : {EdgeProduct::split, EdgeProduct::duplicated}) {
      // With one column both are the same.
      const bool two = weighs_edges(asked.model) && columns > 1;
      if (sddmm == EdgeProduct::duplicated && !two) continue;
      problem.config.sddmm = sddmm;
      problem.graphs = make_graphs(problem);
      for (const LayerOrder order : orders_of(asked))
        for (const DenseProduct gemm : {DenseProduct::ring, DenseProduct::reduce}) {
          if (gemm == DenseProduct::reduce && columns == 1) continue;  // nothing is to be reduced
          problem.model.order = order;
          problem.config.gemm = gemm;
          for (const Preparation preparation : preparations_of(asked)) {
            prepare_by(problem, preparation);
            try {
              choices.push_back(counted(problem, device_bytes));
            } catch (const ConfigError&) {  // such parts cannot be; others can
              if (!impossible) impossible = std::current_exception();
            }
          }
        }
    }
  }
  if (choices.empty() && impossible) std::rethrow_exception(impossible);
  std::stable_sort(choices.begin(), choices.end(), [](const TileChoice& a, const TileChoice& b) {
    return std::tuple(!a.fits, a.received_bytes + a.file_bytes, a.peak_bytes) <
           std::tuple(!b.fits, b.received_bytes + b.file_bytes, b.peak_bytes);
  });
  return choices;
}

InferenceProblem laid_out(const InferenceProblem& asked, const TileChoice& choice) {
  InferenceProblem problem = asked;
  problem.config = choice.config;
  problem.model.order = choice.order;
  problem.graphs = make_graphs(problem);
  prepare_by(problem, choice.config.preparation);
  return problem;
}

}  // namespace orrery
