#include "experiments/predict/closed_forms.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "core/base/index.hpp"
#include "core/cost/cagnet.hpp"
#include "core/cost/catgnn.hpp"
#include "core/cost/equations.hpp"
#include "core/cost/granndis.hpp"
#include "core/model/layer_type.hpp"
#include "core/runtime/exchange_time.hpp"
#include "core/strategy/structure/sampled_batches.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/predict/model_links.hpp"
#include "experiments/predict/simulate.hpp"
#include "experiments/predict/staged_epoch.hpp"
#include "sim/price/op_seconds.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kWordBytes = 4;

double sum(const std::vector<double>& list) {
  return std::accumulate(list.begin(), list.end(), 0.0);
}

/// One rank's epoch with its costs.
struct RankEpoch {
  StagedEpoch staged;
  Breakdown breakdown;
};

class Model {
 public:
  explicit Model(const ModelInput& input)
      : in_(input),
        experiment_(input.prepared.experiment),
        strategy_info_(info_of(experiment_.strategy)),
        strategy_(*input.prepared.strategy),
        facts_(input.prepared.problem->facts()),
        placement_(experiment_.placement()),
        times_(*experiment_.cluster, experiment_.devices, input.library) {
    std::map<const Program*, std::size_t> seen;
    for (std::size_t r = 0; r < in_.programs.size(); ++r) {
      const auto [at, fresh] = seen.emplace(in_.programs[r].get(), ranks_.size());
      if (fresh) ranks_.push_back(rank_epoch(static_cast<int>(r)));
      program_.push_back(at->second);
    }
    slowest_ = &*std::max_element(ranks_.begin(), ranks_.end(), [](const auto& a, const auto& b) {
      return a.breakdown.total() < b.breakdown.total();
    });
  }

  ModelOutcome outcome() {
    add_overlap();
    for (const ClosedForm form : strategy_info_.closed_forms) add(form);
    add_gradients();
    add_what_does_not_apply();
    ModelOutcome out{slowest_->breakdown, {}, program_, equations_};
    for (const RankEpoch& rank : ranks_) out.of_program.push_back(rank.breakdown);
    return out;
  }

 private:
  RankEpoch rank_epoch(int rank) {
    const auto own = [&](const Group& group) { return strategy_.own_group(group, rank); };
    const Price local = [&](const Op& op) { return in_.kernel_seconds(op, rank); };
    const Price collective = [&](const Op& op) {
      return times_.seconds(op, own(*group_of(op)), rank);
    };
    const auto external_share = [&](const Op& op) {
      return external_share_of_bytes(in_group(op, own(*group_of(op))), placement_, rank);
    };
    const Program& program = *in_.programs[at(rank)];
    const int epoch = std::min(std::max(2, period()), experiment_.train.epochs) - 1;
    RankEpoch result{stage_epoch(program, epoch, local, collective, external_share), {}};
    Breakdown& b = result.breakdown;
    b.compute = result.staged.compute;
    b.compute_by_kind = result.staged.compute_by_kind;
    b.internal = result.staged.internal;
    b.external = result.staged.external;
    b.synchronise = result.staged.synchronise_exposed / period();
    b.hidden = (result.staged.synchronise - result.staged.synchronise_exposed) / period();
    for (const StagedProduct& product : result.staged.products) {
      const double exposed = experiment_.strategy.overlap
                                 ? overlapped_seconds(product) - sum(product.compute)
                                 : sum(product.communicate);
      b.external += product.external_share * exposed;
      b.internal += exposed - product.external_share * exposed;
      b.hidden += std::max(0.0, sum(product.communicate) - exposed);
    }
    return result;
  }

  // ---- inputs of the equations

  int ranks() const { return experiment_.ranks(); }
  /// Epochs between two averagings of models.
  int period() const { return in_.prepared.period(); }
  bool averages_models() const {
    return strategy_info_.has(ClosedForm::averaged_models) &&
           experiment_.strategy.averaging == Averaging::model;
  }
  double vertices() const { return static_cast<double>(facts_.vertices); }
  /// Entries of A; some layers, such as GCN, add a self-loop to every vertex.
  double nonzeros() const {
    const double edges = static_cast<double>(facts_.edges);
    return layer_of(experiment_.model).self_loops ? edges + vertices() : edges;
  }
  const std::vector<StagedProduct>& products() const { return slowest_->staged.products; }

  /// Sums over the products; `value` is called with the width of what is multiplied.
  double over_products(const std::function<double(const StagedProduct&, double width)>& value,
                       const std::string& kind = "spmm") const {
    double total = 0;
    for (const StagedProduct& product : products())
      if (product.kind == kind || product.kind.empty())
        total += value(product, static_cast<double>(product.width));
    return total;
  }
  double matrix_bytes(double width) const { return vertices() * width * kWordBytes; }

  // ---- equations

  void add(ClosedForm form) {
    switch (form) {
      case ClosedForm::staged_products:
        return;  // stands first
      case ClosedForm::links_1d:
        return add_links_1d();
      case ClosedForm::volume_1d:
        return add_volume_1d();
      case ClosedForm::links_15d:
        return add_links_15d();
      case ClosedForm::volume_15d:
        return add_volume_15d();
      case ClosedForm::volume_2d:
        return add_volume_2d();
      case ClosedForm::volume_of_cut:
        return add_volume_of_cut();
      case ClosedForm::dependency_exchange:
        return add_dependency_exchange();
      case ClosedForm::dependency_preloading:
        return add_dependency_preloading();
      case ClosedForm::averaged_models:
        return add_averaged_models();
      case ClosedForm::averaged_gradients:
        return add_averaged_batches();
    }
  }

  /// The functions of core/cost that an entry represents; those without an entry are listed at the
  /// end.
  using Functions = std::vector<std::string>;

  void add(const Functions& functions, const std::string& name, const std::string& source,
           const char* unit, double value, const std::string& because) {
    equations_.push_back({{"name", name},
                          {"source", source},
                          {unit, value},
                          {"applies_because", because},
                          {"functions", functions}});
    told_.insert(functions.begin(), functions.end());
  }
  void reject(const Functions& functions, const std::string& name, const std::string& source,
              const std::string& because) {
    equations_.push_back({{"name", name},
                          {"source", source},
                          {"does_not_apply_because", because},
                          {"functions", functions}});
    told_.insert(functions.begin(), functions.end());
  }

  void add_overlap() {
    if (!strategy_info_.has(ClosedForm::staged_products))
      return reject({"serial_seconds"}, "products, stage after stage",
                    "MG-GCN 4.3: sum of b_i + s_i", "parts are multiplied without communication");
    double serial = 0, overlapped = 0;
    for (const StagedProduct& product : products()) {
      serial += serial_seconds(product);
      overlapped += overlapped_seconds(product);
    }
    add({"serial_seconds"}, "products, stage after stage", "MG-GCN 4.3: sum of b_i + s_i",
        "seconds", serial, "what overlap is compared with");
    if (experiment_.strategy.overlap)
      add({"overlapped_seconds"}, "products, communication beside computation",
          "MG-GCN 4.3: b_0 + sum of max(b_i, s_i-1) + s_P-1", "seconds", overlapped,
          "strategy.overlap is true");
    else
      reject({"overlapped_seconds"}, "products, communication beside computation",
             "MG-GCN 4.3: b_0 + sum of max(b_i, s_i-1) + s_P-1", "strategy.overlap is false");
    add_slowdown();
  }

  /// For products beside communication, whose links also use the memory of the device.
  void add_slowdown() {
    const char *name = "products beside communication, slower by", *source = "MG-GCN 6.4";
    const double memory =
        experiment_.cluster->devices[at(experiment_.devices.front())].memory_bytes_per_second;
    const double link = times_.links() ? rate_of_links(*times_.links()) : 0;
    if (!experiment_.strategy.overlap)
      reject({"overlap_slowdown"}, name, source, "strategy.overlap is false");
    else if (link <= 0 || link >= memory)
      reject({"overlap_slowdown"}, name, source,
             link <= 0 ? kNoLinks : "the links are as fast as the memory");
    else
      add({"overlap_slowdown"}, name, source, "ratio", cost::overlap_slowdown(link, memory),
          "all links of a device beside its memory; the device profile's factor is not changed");
  }

  /// All links of the first device together.
  static double rate_of_links(const cost::Links& links) {
    double count = links.to_switch;
    for (int i = 0; i < links.gpus && !links.between.empty(); ++i) count += links.between[at(i)];
    return count * links.link_bytes_per_second;
  }

  static constexpr const char* kNoLinks =
      "the devices are not all joined by direct links or one switch of a server";

  void add_links_1d() {
    const char *name = "1D communication, link matrix", *source = "MG-GCN 5.1";
    if (!times_.links())
      reject({"spmm_1d_seconds", "broadcast_links"}, name, source,
             ranks() == 1 ? "one rank sends nothing" : kNoLinks);
    else
      add({"spmm_1d_seconds", "broadcast_links"}, name, source, "seconds",
          over_products([&](const StagedProduct&, double width) {
            return cost::spmm_1d_seconds(*times_.links(), matrix_bytes(width));
          }),
          "spmm_1d on devices joined by links of one server");
    add_as_printed(
        "spmm_1d_seconds", "1D communication, as printed",
        "MG-GCN 5.1: nd/6l on DGX-1, nd/12l on DGX-A100",
        [](const cost::Links& links, double bytes) { return cost::spmm_1d_seconds(links, bytes); });
  }

  void add_volume_1d() {
    add_traffic({"spmm_1d_traffic"}, "1D volume", "CAGNET 1D: nf(P-1)/P words a process",
                [&](const auto&, double width) {
                  return cost::spmm_1d_traffic({vertices(), width, nonzeros()}, ranks());
                });
    add_epoch({"epoch_1d_traffic"}, "1D epoch of equal layers", "CAGNET, total for 1D",
              cost::epoch_1d_traffic(equal_layers(), layers(), vertices() * (ranks() - 1) / ranks(),
                                     ranks()));
    add_held({"held_words_1d"}, "1D, largest block", "CAGNET 1D: nf/P words",
             cost::held_words_1d(widest(), ranks()));
    const double width = equal_layers().width, each = ranks();
    add({"buffer_bytes"}, "buffers that layers share, mean width",
        "MG-GCN 4.2: (L + 3)(n/P)d words", "bytes",
        cost::buffer_bytes(layers(), vertices(), each, width, kWordBytes),
        "the strategy is spmm_1d; a rank's, by the mean width of the layers");
    add({"buffer_bytes"}, "buffers that layers share", "MG-GCN, its published code", "bytes",
        cost::buffer_bytes(widths(), vertices(), each, kWordBytes),
        "the strategy is spmm_1d; a rank's, by the widths of the layers");
  }

  void add_links_15d() {
    const int copies = experiment_.strategy.replication, rows = ranks() / copies;
    const char *name = "1.5D communication, link matrix", *source = "MG-GCN 5.1";
    if (!times_.links())
      reject({"spmm_15d_seconds"}, name, source, kNoLinks);
    else if (ranks() % (copies * copies) != 0)
      reject({"spmm_15d_seconds"}, name, source,
             "the square of the replication does not divide the ranks");
    else
      add({"spmm_15d_seconds", "broadcast_links"}, name, source, "seconds",
          over_products([&](const StagedProduct&, double width) {
            return cost::spmm_15d_seconds(*times_.links(), matrix_bytes(width),
                                          columns_of_grid(rows, copies));
          }),
          "spmm_15d on devices joined by links of one server");
    const char* printed = "MG-GCN 5.1: nd/4l on DGX-1, nd/16l on DGX-A100";
    if (copies == 2)
      add_as_printed("spmm_15d_seconds", "1.5D communication, as printed", printed,
                     [](const cost::Links& links, double bytes) {
                       return cost::spmm_15d_seconds(links, bytes, {{0, 1, 2, 3}, {4, 5, 6, 7}});
                     });
    else
      reject({"spmm_15d_seconds"}, "1.5D communication, as printed", printed,
             "it is for replication 2");
  }

  void add_volume_15d() {
    const int copies = experiment_.strategy.replication;
    add_traffic({"spmm_15d_traffic"}, "1.5D volume",
                "CAGNET 1.5D: nf/c - nf/P + 2(c-1)nf/P words a process",
                [&](const auto&, double width) {
                  return cost::spmm_15d_traffic({vertices(), width, nonzeros()}, ranks(), copies);
                });
    add_epoch({"epoch_15d_traffic"}, "1.5D epoch of equal layers", "CAGNET 1.5D, after its code",
              cost::epoch_15d_traffic(equal_layers(), layers(), ranks(), copies));
    add_held({"held_words_15d"}, "1.5D, largest block", "CAGNET 1.5D: cnf/P words",
             cost::held_words_15d(widest(), ranks(), copies));
    add({"best_replication"}, "copies for which 1.5D moves least", "CAGNET 1.5D: sqrt(P/2)",
        "copies", cost::best_replication(ranks()), "to compare strategy.replication with");
  }

  static std::vector<std::vector<int>> columns_of_grid(int rows, int copies) {
    std::vector<std::vector<int>> columns(static_cast<std::size_t>(copies));
    for (int rank = 0; rank < rows * copies; ++rank) columns[at(rank % copies)].push_back(rank);
    return columns;
  }

  /// The paper's machines with the paper's counts of links.
  template <class Form>
  void add_as_printed(const char* function, const char* name, const char* source,
                      const Form& form) {
    const Functions functions{function, "dgx1_links", "dgx1_links_as_assumed", "switched_links"};
    const auto& links = times_.links();
    const double rate = links ? links->link_bytes_per_second : 0;
    const bool dgx1 = links && links->between == cost::dgx1_links(rate).between,
               dgx_a100 =
                   links && links->between.empty() && links->gpus == 8 && links->to_switch == 12;
    if (!dgx1 && !dgx_a100)
      return reject(functions, name, source, "it is for all eight GPUs of a DGX-1 or a DGX-A100");
    const cost::Links assumed = dgx1 ? cost::dgx1_links_as_assumed(rate) : *links;
    add(functions, name, source, "seconds", over_products([&](const StagedProduct&, double width) {
          return form(assumed, matrix_bytes(width));
        }),
        dgx1 ? "eight GPUs of a DGX-1, links as the paper assumes them"
             : "eight GPUs of a DGX-A100");
  }

  void add_volume_2d() {
    add_traffic({"spmm_2d_traffic"}, "2D volume of products with A",
                "CAGNET 2D: (sqrt P - 1)(nnz + nf)/P words a process",
                [&](const auto&, double width) {
                  return cost::spmm_2d_traffic({vertices(), width, nonzeros()}, ranks());
                });
    add_traffic(
        {"gemm_2d_traffic"}, "2D volume of products with W",
        "CAGNET 2D: (sqrt P - 1)nf/P words a process",
        [&](const auto&, double width) {
          return cost::gemm_2d_traffic({vertices(), width, nonzeros()}, ranks());
        },
        "gemm");
    add_epoch({"epoch_2d_traffic"}, "2D epoch of equal layers", "CAGNET, total for 2D",
              cost::epoch_2d_traffic(equal_layers(), layers(), ranks()));
    add_held({"held_words_1d"}, "2D, largest block", "CAGNET 2D: nf/P words",
             cost::held_words_1d(widest(), ranks()));
    reject({"spmm_1d_seconds"}, "1D communication, link matrix", "MG-GCN 5.1",
           "the strategy is " + experiment_.strategy.type);
    reject({"spmm_15d_seconds"}, "1.5D communication, link matrix", "MG-GCN 5.1",
           "the strategy is " + experiment_.strategy.type);
  }

  int layers() const { return experiment_.model.layers; }
  /// Widths of the input, between the convolutions and of what the last one gives; for SGC, which has no weights
  /// between them, of the rows that all layers aggregate.
  std::vector<double> widths() const {
    const ModelConfig& model = experiment_.model;
    if (model.type == ModelType::sgc)
      return std::vector<double>(
          static_cast<std::size_t>(layers()) + 1,
          static_cast<double>(transforms_first(model.order, facts_.features, facts_.classes)
                                  ? facts_.classes
                                  : facts_.features));
    std::vector<double> list(static_cast<std::size_t>(layers()) + 1,
                             static_cast<double>(experiment_.model.hidden));
    list.front() = static_cast<double>(facts_.features);
    // Dense layers behind the last convolution turn its rows into classes.
    if (model.dense_layers == 0) list.back() = static_cast<double>(facts_.classes);
    return list;
  }
  /// The model of an epoch's products in the equations: all have the mean width of the layers.
  cost::Product equal_layers() const {
    const auto list = widths();
    return {vertices(), sum(list) / static_cast<double>(list.size()), nonzeros()};
  }
  cost::Product widest() const {
    const auto list = widths();
    return {vertices(), *std::max_element(list.begin(), list.end()), nonzeros()};
  }

  void add_epoch(const Functions& functions, const char* name, const char* source,
                 const cost::Traffic& traffic) {
    const AlphaBeta cost = times_.between(world_group(ranks()));
    add(functions, name, source, "bytes", kWordBytes * traffic.words,
        fmt::format("{} layers of the mean width {:.0f}; bytes that a rank receives in an epoch",
                    layers(), equal_layers().width));
    equations_.back()["seconds"] = cost::traffic_seconds(traffic, cost.seconds_per_message,
                                                         kWordBytes * cost.seconds_per_byte);
  }
  void add_held(const Functions& functions, const char* name, const char* source, double words) {
    add(functions, name, source, "bytes", kWordBytes * words,
        "rows of the widest layer that a rank holds");
  }

  template <class Form>
  void add_traffic(Functions functions, const char* name, const char* source, const Form& form,
                   const std::string& kind = "spmm") {
    functions.emplace_back("traffic_seconds");
    double seconds = 0, bytes = 0;
    const AlphaBeta cost = times_.between(world_group(ranks()));
    over_products(
        [&](const StagedProduct& product, double width) {
          const cost::Traffic traffic = form(product, width);
          bytes += kWordBytes * traffic.words;
          seconds += cost::traffic_seconds(traffic, cost.seconds_per_message,
                                           kWordBytes * cost.seconds_per_byte);
          return 0.0;
        },
        kind);
    add(functions, name, source, "bytes", bytes,
        fmt::format("the strategy is {}; bytes that a rank receives, on average",
                    experiment_.resolved["strategy"]["type"].get<std::string>()));
    equations_.back()["seconds"] = seconds;
  }

  void add_volume_of_cut() {
    add_traffic({"spmm_1d_sparse_traffic"}, "1D volume with the edge cut",
                "CAGNET 1D, sparsity-aware: r f words, r rows of others that a process needs",
                [&](const StagedProduct& product, double width) {
                  return cost::spmm_1d_sparse_traffic({vertices(), width, nonzeros()},
                                                      static_cast<double>(product.received_rows),
                                                      ranks());
                });
    equations_.back()["applies_because"] =
        "full_graph sends each needed row once; bytes that the slowest rank receives";
    if (products().empty()) return;
    double rows = 0;
    for (const StagedProduct& product : products())
      rows += static_cast<double>(product.received_rows) / static_cast<double>(products().size());
    add_epoch({"epoch_1d_traffic"}, "1D epoch of equal layers with the edge cut",
              "CAGNET, total for 1D",
              cost::epoch_1d_traffic(equal_layers(), layers(), rows, ranks()));
  }

  void add_dependency_exchange() {
    const auto n = static_cast<double>(products().size());
    const char *name = "exchange of every dependency", *source = "GraNNDis Eq. 3";
    if (n == 0 || slowest_->breakdown.compute <= 0)
      return reject({"previous_seconds"}, name, source, "the epoch has no product");
    const auto run = granndis_run(1);
    if (!run) return reject({"previous_seconds"}, name, source, "one rank exchanges nothing");
    add({"previous_seconds", "vertices_per_second"}, name, source, "seconds",
        n * cost::previous_seconds(*run),
        fmt::format("full_graph exchanges between servers; summed over {} products of mean width "
                    "{:.0f}, kernels included",
                    n, mean_width()));
  }

  double mean_width() const {
    return over_products([](const auto&, double w) { return w; }) /
           static_cast<double>(products().size());
  }

  /// Nothing if there is one rank. `growth`: vertices computed per owned one
  std::optional<cost::GranndisRun> granndis_run(double growth) {
    cost::GranndisRun run;
    run.vertices = vertices();
    run.edges = nonzeros();
    run.servers = placement_.servers();
    run.gpus_per_server = static_cast<double>(ranks()) / run.servers;
    run.compute_vertices_per_second = growth * vertices() * static_cast<double>(products().size()) /
                                      (ranks() * slowest_->breakdown.compute);
    const double inside = rate_inside(), outside = rate_outside();
    if (inside <= 0 && outside <= 0) return std::nullopt;
    run.internal_vertices_per_second =
        cost::vertices_per_second(inside > 0 ? inside : outside, mean_width(), kWordBytes);
    run.external_vertices_per_second =
        cost::vertices_per_second(outside > 0 ? outside : inside, mean_width(), kWordBytes);
    return run;
  }

  void add_dependency_preloading() {
    const bool sampled = experiment_.strategy.sampling.has_value();
    const char* name = sampled ? "preloading with sampled dependencies" : "shared preloading";
    const char* source = sampled ? "GraNNDis Eq. 8, with the factor of Eq. 4" : "GraNNDis Eq. 4";
    const auto n = static_cast<double>(products().size());
    const double growth = strategy_.redundancy()->of_vertices();
    const Functions functions{sampled ? "sampling_seconds" : "preload_seconds"};
    add_condition(sampled, growth);
    if (sampled) add_memory_of_sampled(growth);
    if (n == 0 || slowest_->breakdown.compute <= 0)
      return reject(functions, name, source, "the epoch has no product");
    if (growth > ranks())
      return reject(functions, name, source,
                    fmt::format("servers compute {:.2f} vertices for each of their own, more than "
                                "the {} ranks that Eq. 5 allows",
                                growth, ranks()));
    const auto run = granndis_run(growth);
    if (!run) return reject(functions, name, source, "one rank exchanges nothing");
    const double seconds =
        sampled ? cost::sampling_seconds(*run, growth, cost::InternalFactor::as_preload)
                : cost::preload_seconds(*run, growth);
    add({functions.front(), "vertices_per_second"}, name, source, "seconds", n * seconds,
        fmt::format("servers compute {:.2f} vertices for each of their own (of this graph and cut, "
                    "in place of D^a L); summed over {} products of mean width {:.0f}",
                    growth, n, mean_width()));
    if (!sampled)
      add({"preload_extra_seconds"}, "what preloading adds, roughly", "GraNNDis Eq. 6", "seconds",
          n * cost::preload_extra_seconds(*run, growth),
          "negative where it wins; takes links inside a server for free, and servers for many");
    if (growth <= 1) return;
    const double degree = nonzeros() / vertices();
    add({"preload_break_even"}, "break-even of compute rate / external rate", "GraNNDis Eq. 7",
        "ratio", cost::preload_break_even(growth, degree),
        fmt::format("preloading wins above it; here the ratio is {:.3g}",
                    run->compute_vertices_per_second / run->external_vertices_per_second));
  }

  /// Whether Eq. 5, or Eq. 9, allows the counted growth.
  void add_condition(bool sampled, double growth) {
    const char *name5 = "preloading is modelled", *source5 = "GraNNDis Eq. 5: 1 < g <= Ns Ng";
    const char *name9 = "sampling is modelled", *source9 = "GraNNDis Eq. 9: 1 < g sampled < g";
    const double servers = placement_.servers();
    const bool holds = cost::preload_condition_holds(growth, servers, ranks() / servers);
    if (sampled)
      return reject({"sampling_condition_holds"}, name9, source9,
                    "how much more servers would compute without sampling is not counted in a "
                    "run that samples");
    add({"preload_condition_holds"}, name5, source5, "holds", holds ? 1 : 0,
        fmt::format("g is {:.2f}, of this graph and cut; 1: it holds, 0: not", growth));
  }

  void add_memory_of_sampled(double growth) {
    const char *name = "activations under sampling", *source = "GraNNDis, PACT 2024, Eq. 12 to 14";
    const double servers = placement_.servers();
    if (experiment_.strategy.sampling->expansion.hops != 1)
      return reject({"sampled_memory_bytes"}, name, source, "it is for strategy.sampling.hops 1");
    if (growth > servers)
      return reject({"sampled_memory_bytes"}, name, source,
                    "servers compute more than the whole graph");
    add({"sampled_memory_bytes"}, name, source, "bytes",
        cost::sampled_memory_bytes(vertices(), equal_layers().width, layers(), growth, servers,
                                   ranks() / servers, kWordBytes),
        "of a rank, forward and backward, by the mean width of the layers");
  }

  double rate_inside() {
    int here = 0;
    while (here < ranks() && placement_.same_server(here, 0)) ++here;
    return here < 2 ? 0 : 1 / times_.between({0, 0, here, 1}).seconds_per_byte;
  }
  double rate_outside() const {
    return external_rate_per_device(*experiment_.cluster, experiment_.devices);
  }

  void add_averaged_models() {
    const char* source = "CATGNN 3.3 and 5.5: floor(epochs / interval) all-reduces";
    if (!averages_models()) return add_gradient_averagings();
    const int epochs = experiment_.train.epochs;
    add_parts();
    const std::int64_t averagings = cost::model_averagings(epochs, experiment_.strategy.interval);
    add({"model_averagings"}, "model averaging, all-reduces of the run", source, "all_reduces",
        static_cast<double>(averagings), "models are averaged every strategy.interval epochs");
    add({"averaging_saving"}, "model averaging, times fewer all-reduces",
        "CATGNN 3: batches of a worker times the interval", "ratio",
        static_cast<double>(
            cost::averaging_saving(steps_of_first(), experiment_.strategy.interval)),
        fmt::format("{}; beside averaging the gradients of every step", what_a_step_is()));
    const double parameters = slowest_->staged.gradient_bytes / kWordBytes;
    add({"averaging_words"}, "model averaging, volume",
        "ring all-reduce: 2(W-1)/W words a worker and parameter", "bytes",
        kWordBytes * cost::averaging_words(averagings, parameters, ranks()) / epochs,
        "bytes that a rank receives in an epoch, on average over the run");
    equations_.back()["seconds"] = slowest_->breakdown.synchronise;
  }

  /// For the first rank, which has no fewer than any other.
  std::int64_t steps_of_first() const {
    const auto training = strategy_.schedule(0).training;
    return std::max<std::int64_t>(1, training ? training->count(0) : 1);
  }
  const char* what_a_step_is() const {
    return batch() > 0 ? "each batch is a step" : "each part is a step";
  }
  /// Seeds of a batch; 0 if parts are trained as a whole.
  std::int64_t batch() const {
    const StrategyConfig& config = experiment_.strategy;
    return strategy_info_.has(ClosedForm::averaged_gradients) ? mini_batch_of(config).batch
                                                              : config.batch;
  }

  static constexpr const char *kBatches = "mini-batches of a worker in an epoch",
                              *kSourceOfBatches =
                                  "CATGNN 2.3: training vertices over the batch, rounded up";
  /// `workers` share the training vertices evenly.
  void add_batches(int workers, const char* worker) {
    const char *name = "mini-batches of a worker in an epoch",
               *source = "CATGNN 2.3: training vertices over the batch, rounded up";
    if (batch() == 0) return reject({"batches_of"}, name, source, "parts are trained as a whole");
    const std::int64_t each = (facts_.training_vertices + workers - 1) / workers;
    add({"batches_of"}, kBatches, kSourceOfBatches, "batches",
        static_cast<double>(cost::batches_of(each, batch())),
        fmt::format("batches of {} seeds; the training vertices shared evenly among {} {}", batch(),
                    workers, worker));
  }

  /// Gradients are averaged after every batch of all ranks.
  void add_averaged_batches() {
    const MiniBatchSettings settings = mini_batch_of(experiment_.strategy);
    if (settings.sampler == BatchSampler::cluster)
      reject({"batches_of"}, kBatches, kSourceOfBatches, "batches are clusters, not vertices");
    else if (settings.seeds == SeedsFrom::all)
      add_batches(1, "worker: strategy.seeds global has batches of all ranks together");
    else
      add_batches(ranks(), "ranks");
    add({"gradient_averagings"}, "gradient averaging, all-reduces of the run",
        "CATGNN 2.3: epochs times batches of a worker", "all_reduces",
        static_cast<double>(cost::gradient_averagings(experiment_.train.epochs, steps_of_first())),
        "gradients are averaged after every batch");
  }

  void add_parts() {
    add({"parts_on_gpu"}, "parts that a rank trains one after the other", "CATGNN 3.3", "parts",
        static_cast<double>(
            cost::parts_on_gpu(parts_for(experiment_.strategy, ranks()), ranks(), 0)),
        "of rank 0, which has no fewer than others");
    add_batches(parts_for(experiment_.strategy, ranks()), "parts");
  }

  void add_gradient_averagings() {
    add_parts();
    add({"gradient_averagings"}, "gradient averaging, all-reduces of the run",
        "CATGNN 2.3: epochs times batches of a worker", "all_reduces",
        static_cast<double>(cost::gradient_averagings(experiment_.train.epochs, steps_of_first())),
        fmt::format("strategy.averaging is gradient; {}", what_a_step_is()));
    reject({"model_averagings", "averaging_saving", "averaging_words"}, "model averaging",
           "CATGNN 3.3 and 5.5: floor(epochs / interval) all-reduces",
           "gradients are averaged in every step");
  }

  void add_gradients() {
    const char *name = "gradients, ring all-reduce",
               *source = "2(q-1) alpha + 2(q-1)/q bytes beta (ring; MG-GCN 5.1's last step)";
    if (averages_models()) return reject({}, name, source, "models are averaged instead");
    if (slowest_->staged.gradient_bytes == 0)
      return reject({}, name, source, "no gradients are averaged in an epoch");
    add({}, name, source, "seconds", slowest_->staged.synchronise, "the model is replicated");
  }

  /// Every other equation of core/cost, with the reason.
  void add_what_does_not_apply() {
    if (!strategy_info_.has(ClosedForm::dependency_exchange))
      reject({"previous_seconds"}, "exchange of every dependency", "GraNNDis Eq. 3",
             "it is for full_graph");
    for (const cost::Equation& equation : cost::equations())
      if (const std::string function(equation.function); !told_.contains(function))
        reject({function}, equation.title, equation.source, why_not(equation));
  }

  static std::string why_not(const cost::Equation& equation) {
    struct Reason {
      std::string_view function, words;
    };
    static constexpr Reason kReasons[]{
        {"dependency_growth", "growth is counted on this graph and cut instead"},
        {"sampled_growth", "growth is counted on this graph and cut instead"},
        {"sampled_memory_ratio", "it compares two clusters: evaluate it on each"},
        {"sampling_seconds", "it is for shared_preloading with strategy.sampling"},
        {"sampling_condition_holds", "it is for shared_preloading with strategy.sampling"},
        {"sampled_memory_bytes", "it is for shared_preloading with strategy.sampling"},
        {"vertices_per_second", "no equation of this experiment asks for it"},
        {"batches_of", "it is for strategies with batches: mini_batch, model_averaging"},
        {"gradient_averagings",
         "it is for mini_batch, and model_averaging with strategy.averaging gradient"},
        {"best_replication", "it is for spmm_15d"},
        {"spmm_1d_sparse_traffic", "it is for full_graph"},
        {"epoch_1d_traffic", "it is for spmm_1d and full_graph"},
        {"held_words_1d", "it is for spmm_1d and spmm_2d"},
        {"buffer_bytes", "it is for spmm_1d"},
        {"traffic_seconds", "it is for spmm_1d, spmm_15d, spmm_2d and full_graph"},
        {"gemm_2d_traffic", "it is for spmm_2d"}};
    for (const Reason& reason : kReasons)
      if (reason.function == equation.function) return std::string(reason.words);
    if (equation.paper == "deal")
      return "it is for inference, layer by layer: orrery infer --plan and orrery equations deal";
    if (equation.paper == "catgnn") return "it is for model_averaging: the ranks share one model";
    if (equation.paper == "granndis") return "it is for shared_preloading";
    const auto about = [&](std::string_view what) {
      return equation.function.find(what) != std::string_view::npos;
    };
    if (about("3d")) return "no strategy of this version works on a cube of ranks";
    if (about("15d")) return "it is for spmm_15d";
    if (about("2d")) return "it is for spmm_2d";
    if (about("1d")) return "it is for spmm_1d";
    return "it is for spmm_1d and spmm_15d on the devices of one server";
  }

  const ModelInput& in_;
  const Experiment& experiment_;
  const StrategyInfo& strategy_info_;
  const Strategy& strategy_;
  const DataFacts facts_;
  Placement placement_;
  CollectiveTimes times_;
  std::vector<RankEpoch> ranks_;      // of the first rank of each distinct program
  std::vector<std::size_t> program_;  // of each rank
  const RankEpoch* slowest_ = nullptr;
  Json equations_ = Json::array();
  std::set<std::string> told_;  ///< functions of core/cost that are in equations_
};

/// How many ranks take turns on each core of a CPU; 1 if there are enough cores.
double oversubscription(const Experiment& experiment, int threads) {
  const int device = experiment.devices.front();
  const int cores = experiment.cluster->devices[at(device)].cores;
  const auto ranks = std::count(experiment.devices.begin(), experiment.devices.end(), device);
  return cores == 0 ? 1.0 : std::max(1.0, static_cast<double>(ranks * threads) / cores);
}

}  // namespace

ModelOutcome evaluate_model(const ModelInput& input) { return Model(input).outcome(); }

std::optional<std::string> why_no_equations(const StrategyConfig& strategy,
                                            const ModelConfig& model) {
  if (model.sparse_input)
    return "the papers' equations do not cover model.sparse_input: use backend sim";
  if (weighs_edges(model))
    return fmt::format(
        "the papers' equations cover products with the adjacency, not {}: use backend sim",
        model.type.name);
  const auto why = info_of(strategy).why_no_closed_forms;
  return why != nullptr ? why(strategy) : std::nullopt;
}

ModelledOutcome model(const PreparedExperiment& prepared) {
  const Experiment& experiment = prepared.experiment;
  if (const auto why = why_no_equations(experiment.strategy, experiment.model))
    throw ConfigError("backend", *why);
  const sim::DeviceProfile profile = profile_of(experiment);
  const int threads = kernel_threads(experiment);
  const Programs programs = record_checked(prepared, memory_capacities(experiment));
  const double shared = oversubscription(experiment, threads);
  const auto price = [&](const Op& op, int) {
    return shared * sim::op_seconds(profile, op, threads);
  };
  const ModelInput input{prepared, programs, price, library_of(experiment, profile)};
  ModelOutcome out = evaluate_model(input);

  ModelledOutcome result;
  result.outcome.epochs.push_back({0, std::nullopt, std::nullopt});
  const auto summary = summaries(programs, prepared);
  for (std::size_t r = 0; r < programs.size(); ++r) {
    RankOutcome rank;
    const Breakdown& breakdown = out.of_program[out.program[r]];
    rank.epochs.push_back({breakdown.total(), breakdown});
    rank.summary = summary[r];
    result.outcome.ranks.push_back(std::move(rank));
  }
  result.model = {{"cluster", experiment.cluster->name},
                  {"profile", profile.name},
                  {"profile_origin", profile.origin},
                  {"library", input.library.name},
                  {"leaves_out", "hosts, contention, waiting for other ranks"}};
  result.equations = std::move(out.equations);
  return result;
}

}  // namespace orrery
