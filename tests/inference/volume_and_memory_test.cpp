// What an inference receives and holds, against brute force and Deal's tables.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>

#include "core/base/rng.hpp"
#include "core/cost/deal.hpp"
#include "core/inference/input/feature_files.hpp"
#include "core/runtime/check/check.hpp"
#include "core/runtime/read_files.hpp"
#include "core/runtime/recording.hpp"
#include "core/runtime/summary.hpp"
#include "tests/support/inferences.hpp"
#include "tests/support/rows_in_drawn_order.hpp"

namespace orrery {
namespace {

using testing::make_inference;
using testing::random_dataset;

ModelConfig one_layer() {
  ModelConfig model;
  model.layers = 1;
  return model;
}

/// Bytes that a rank receives in the first stage: numbers of rows, rows, and tiles of dense products.
struct Received {
  double numbers = 0, rows = 0, dense = 0;
};
Received received_by(const Program& program) {
  Received sum;
  int epoch = -1;
  for (const Step& step : program.steps) {
    if (const auto* phase = std::get_if<PhaseStep>(&step)) epoch = phase->phase.epoch;
    const auto* submit = std::get_if<SubmitStep>(&step);
    if (submit == nullptr || epoch != 0) continue;
    const auto group = group_of(submit->op);
    if (!group) continue;
    received_bytes(submit->op, program.rank, [&](int, double bytes) {
      if (group->id == 1)
        sum.dense += bytes;
      else if (submit->lane == Lane::comm2)
        sum.numbers += bytes;
      else
        sum.rows += bytes;
    });
  }
  return sum;
}

InferenceConfig tiles(int rows, int columns) {
  InferenceConfig config;
  config.rows = rows;
  config.columns = columns;
  return config;
}

/// Distinct neighbours in other parts, by brute force.
std::int64_t remote_neighbours(const Dataset& data, const TileLayout& layout, int part) {
  std::set<Vertex> remote;
  const Share rows = layout.rows(part);
  for (std::int64_t v = rows.first; v < rows.end(); ++v)
    for (const Vertex u : data.graph->row(v))
      if (!rows.contains(u)) remote.insert(u);
  return static_cast<std::int64_t>(remote.size());
}

TEST(InferenceVolume, OfAggregationIsANumberAndARowForEachDistinctRemoteNeighbour) {
  const auto data = random_dataset(60, 300, 9, 9, false);
  for (const std::int64_t group_bytes : {0, 24}) {
    InferenceConfig config = tiles(3, 4);
    config.group_bytes = group_bytes;
    const InferenceProblem problem = make_inference(data, one_layer(), config);
    const auto programs = record_ranks(InferenceBody(problem), 2, {});

    check(programs);
    for (const Program& program : programs) {
      const TileLayout layout = problem.layout();
      const double rows = static_cast<double>(
                       remote_neighbours(*data, layout, layout.part_of(program.rank))),
                   columns =
                       static_cast<double>(layout.columns(9, layout.column_of(program.rank)).count);
      EXPECT_EQ(received_by(program).numbers, [&] {
        // A rank is sent the numbers of the rows that it serves.
        double served = 0;
        for (int by = 0; by < 3; ++by)
          served +=
              static_cast<double>(problem.graphs->needed(1, by, layout.part_of(program.rank)));
        return 4 * served;
      }());
      EXPECT_EQ(received_by(program).rows, 4 * rows * columns);
    }
  }
}

/// Each layer by itself, vertex by vertex: the rows that travel are as wide as its order makes them.
TEST(InferenceVolume, OfAggregationFollowsTheOrderOfEachLayer) {
  const auto data = random_dataset(60, 300, 9, 4, false);
  ModelConfig model;
  model.layers = 3;
  model.hidden = 6;
  const std::array<std::int64_t, 4> widths{9, 6, 6, 4};
  constexpr auto kSum = LayerOrder::aggregate_first, kProduct = LayerOrder::transform_first;
  for (const std::vector<LayerOrder>& order :
       {std::vector{kSum, kProduct, kSum}, std::vector{kProduct, kSum, kProduct},
        std::vector{kSum, kSum, kProduct}}) {
    InferenceConfig config = tiles(3, 2);
    config.order = order;
    const InferenceProblem problem = make_inference(data, model, config);
    const TileLayout layout = problem.layout();
    const auto programs = record_ranks(InferenceBody(problem), 4, {});

    check(programs);
    for (const Program& program : programs) {
      double expected = 0, received = 0;
      const std::int64_t remote = remote_neighbours(*data, layout, layout.part_of(program.rank));
      for (std::size_t l = 0; l < 3; ++l)
        expected += 4.0 * static_cast<double>(
                              remote * layout
                                           .columns(order[l] == kSum ? widths[l] : widths[l + 1],
                                                    layout.column_of(program.rank))
                                           .count);
      for (const Step& step : program.steps) {
        const auto* submit = std::get_if<SubmitStep>(&step);
        if (submit == nullptr || submit->lane == Lane::comm2) continue;
        const auto group = group_of(submit->op);
        if (!group || group->id == 1) continue;
        received_bytes(submit->op, program.rank, [&](int, double bytes) { received += bytes; });
      }
      EXPECT_EQ(received, expected) << "rank " << program.rank;
    }
  }
}

/// Deal's Table 1, where everything divides evenly: exactly.
TEST(InferenceVolume, OfDenseProductsIsThatOfDealsTable1) {
  const auto data = random_dataset(48, 100, 12, 8, false);
  for (const auto& [parts, shares] : {std::pair{1, 4}, std::pair{3, 2}, std::pair{2, 4}}) {
    const cost::DealSetting setting{48, 12, 0, static_cast<double>(parts),
                                    static_cast<double>(shares)};
    InferenceConfig config = tiles(parts, shares);
    const InferenceProblem ring = make_inference(data, one_layer(), config);
    config.gemm = DenseProduct::reduce;
    const InferenceProblem reduce = make_inference(data, one_layer(), config);

    for (const Program& program : record_ranks(InferenceBody(ring), 2, {}))
      EXPECT_DOUBLE_EQ(received_by(program).dense / 4,
                       cost::gemm_rotate_received_words(setting, 8));
    for (const Program& program : record_ranks(InferenceBody(reduce), 2, {}))
      EXPECT_DOUBLE_EQ(received_by(program).dense / 4,
                       cost::gemm_reduce_received_words(setting, 8));
  }
}

/// Deal's Table 2 in expectation: entries that fall on rows at random.
TEST(InferenceVolume, OfAggregationIsThatOfDealsTable2OnRandomGraphs) {
  constexpr std::int64_t kVertices = 6000, kEntries = 5;
  const auto data = random_dataset(kVertices, kVertices * kEntries, 8, 8, false);
  for (const auto& [parts, shares] : {std::pair{4, 2}, std::pair{2, 4}}) {
    // The entries of a column are not all alike here: the mean of needed_share over the columns.
    const Csr columns = transpose(without_self_loops(*data->graph));
    double words = 0;
    for (std::int64_t u = 0; u < kVertices; ++u) {
      const cost::DealSetting one{1, 8, static_cast<double>(columns.degree(u)),
                                  static_cast<double>(parts), static_cast<double>(shares)};
      words += cost::spmm_fetch_words(one).total();
    }
    const InferenceProblem problem = make_inference(data, one_layer(), tiles(parts, shares));
    double received = 0;
    for (const Program& program : record_ranks(InferenceBody(problem), 2, {})) {
      const Received of_rank = received_by(program);
      received += (of_rank.numbers + of_rank.rows) / 4;
    }
    EXPECT_NEAR(received / problem.layout().ranks() / words, 1, 0.02);
  }
}

/// What a rank receives in the first stage by kind of operation.
std::map<std::string, double> received_by_kind(const Program& program) {
  std::map<std::string, double> sum;
  int epoch = -1;
  for (const Step& step : program.steps) {
    if (const auto* phase = std::get_if<PhaseStep>(&step)) epoch = phase->phase.epoch;
    const auto* submit = std::get_if<SubmitStep>(&step);
    if (submit == nullptr || epoch != 0) continue;
    std::string kind(kind_of(submit->op));
    if (kind == "send_recv" && submit->lane == Lane::comm2) kind = "numbers";
    received_bytes(submit->op, program.rank, [&](int, double bytes) { sum[kind] += bytes; });
  }
  return sum;
}

/// Brute force: entries with a column number and a value each, the offsets of the rows that come,
/// and a partial result of every row from each part that has one.
TEST(InferenceVolume, OfAnExchangedGraphIsItsEntriesOffsetsAndPartialResults) {
  const auto data = random_dataset(61, 300, 9, 9, false);
  InferenceConfig config = tiles(3, 2);
  config.spmm = SparseProduct::exchange_graph;
  const InferenceProblem problem = make_inference(data, one_layer(), config);
  const TileLayout layout = problem.layout();
  const auto programs = record_ranks(InferenceBody(problem), 2, {});

  check(programs);
  for (const Program& program : programs) {
    const int part = layout.part_of(program.rank);
    std::map<int, std::int64_t> to_us, from_us;  // entries of A, by the other part
    for (std::int64_t v = 0; v < 61; ++v)
      for (const Vertex u : data->graph->row(v)) {
        const int by = layout.part_of_vertex(v), of = layout.part_of_vertex(u);
        if (by != part && of == part) ++to_us[by];
        if (by == part && of != part) ++from_us[of];
      }
    double graph = 0;
    for (const auto& [by, entries] : to_us)
      graph +=
          8.0 * static_cast<double>(entries) + 8.0 * static_cast<double>(layout.rows(by).count + 1);
    const double partial =
        4.0 *
        static_cast<double>(layout.rows(part).count *
                            layout.columns(9, layout.column_of(program.rank)).count) *
        static_cast<double>(from_us.size());
    auto found = received_by_kind(program);

    EXPECT_EQ(found["broadcast_sparse"], graph);
    EXPECT_EQ(found["send_recv"] - received_by(program).dense, partial);
  }
}

/// What a rank receives in the first stage of a 2D product: numbers of rows, pieces of them, sums.
struct Received2d {
  double numbers = 0, pieces = 0, sums = 0;
};
Received2d received_2d(const Program& program, int ranks) {
  Received2d sum;
  int epoch = -1;
  for (const Step& step : program.steps) {
    if (const auto* phase = std::get_if<PhaseStep>(&step)) epoch = phase->phase.epoch;
    const auto* submit = std::get_if<SubmitStep>(&step);
    if (submit == nullptr || epoch != 0) continue;
    const bool reduces = kind_of(submit->op) == "reduce_scatter";
    // A product with weights by the ring passes tiles within a part; rows come from any rank.
    if (!reduces && group_of(submit->op) != world_group(ranks)) continue;
    double& of_kind = reduces ? sum.sums : submit->lane == Lane::comm2 ? sum.numbers : sum.pieces;
    received_bytes(submit->op, program.rank, [&](int, double bytes) { of_kind += bytes; });
  }
  return sum;
}

/// The distinct vertices that the rows of A of a part meet in the slice of one of its ranks.
std::set<Vertex> wanted_by(const Dataset& data, const TileLayout& layout, int rank, bool loops) {
  const Share rows = layout.rows(layout.part_of(rank)),
              slice = share_of(data.vertices(), layout.column_parts, layout.column_of(rank));
  std::set<Vertex> wanted;
  for (std::int64_t v = rows.first; v < rows.end(); ++v) {
    if (loops && slice.contains(v)) wanted.insert(static_cast<Vertex>(v));
    for (const Vertex u : data.graph->row(v))
      if (u != v && slice.contains(u)) wanted.insert(u);
  }
  return wanted;
}

/// Brute force, vertex by vertex: a wanted row is asked for at each rank that has a piece of it, and
/// the piece comes, unless the rank has it itself. Then the ranks of a part add up.
std::vector<Received2d> brute_force_2d(const Dataset& data, const TileLayout& layout,
                                       std::int64_t width, bool loops) {
  const auto piece = [&](int rank) {
    return static_cast<double>(layout.columns(width, layout.column_of(rank)).count);
  };
  std::vector<Received2d> all(at(layout.ranks()));
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    for (const Vertex u : wanted_by(data, layout, rank, loops))
      for (int m = 0; m < layout.column_parts; ++m) {
        const int owner = layout.rank_of(layout.part_of_vertex(u), m);
        if (owner == rank || piece(owner) == 0) continue;
        all[at(owner)].numbers += 4;
        all[at(rank)].pieces += 4 * piece(owner);
      }
    const auto rows = static_cast<double>(layout.rows(layout.part_of(rank)).count);
    all[at(rank)].sums = 4 * rows * piece(rank) * (layout.column_parts - 1);
  }
  return all;
}

/// To the byte, also where nothing divides evenly, and where a rank has no columns.
TEST(InferenceVolume, OfA2dProductIsItsNumbersPiecesAndSumsByBruteForce) {
  for (const auto& [parts, shares, width] :
       {std::tuple{3, 2, 9}, std::tuple{2, 4, 9}, std::tuple{3, 4, 3}, std::tuple{5, 1, 9}})
    for (const ModelType& type : {ModelType::gcn, ModelType::sage})
      for (const std::int64_t group_bytes : {0, 80}) {
        const auto data = random_dataset(61, 300, width, 9, false);
        ModelConfig model = one_layer();
        model.type = type;
        model.order = LayerOrder::aggregate_first;
        InferenceConfig config = tiles(parts, shares);
        config.spmm = SparseProduct::two_d;
        config.group_bytes = group_bytes;
        const InferenceProblem problem = make_inference(data, model, config);
        const auto expected =
            brute_force_2d(*data, problem.layout(), width, type == ModelType::gcn);
        const auto programs = record_ranks(InferenceBody(problem), 2, {});

        check(programs);
        for (const Program& program : programs) {
          const Received2d found = received_2d(program, problem.layout().ranks());
          const Received2d& of_rank = expected[at(program.rank)];
          const std::string where =
              fmt::format("{} {} x {} rank {}", type.name, parts, shares, program.rank);
          EXPECT_EQ(found.numbers, of_rank.numbers) << where;
          EXPECT_EQ(found.pieces, of_rank.pieces) << where;
          EXPECT_EQ(found.sums, of_rank.sums) << where;
        }
      }
}

/// Deal's Table 2: the tables count the entries and not the offsets of rows.
TEST(InferenceVolume, OfTheRivalsOfFetchedRowsIsThatOfDealsTable2OnRandomGraphs) {
  constexpr std::int64_t kVertices = 6000, kEntries = 5;
  const auto data = random_dataset(kVertices, kVertices * kEntries, 8, 8, false);
  const Csr columns = transpose(without_self_loops(*data->graph));
  ModelConfig model = one_layer();
  model.type = ModelType::sage;  // no self-loops
  model.order = LayerOrder::aggregate_first;
  for (const auto& [parts, shares] : {std::pair{4, 2}, std::pair{2, 4}}) {
    cost::SpmmWords exchange, two_d;
    for (std::int64_t u = 0; u < kVertices; ++u) {
      const cost::DealSetting one{1, 8, static_cast<double>(columns.degree(u)),
                                  static_cast<double>(parts), static_cast<double>(shares)};
      exchange.graph += cost::spmm_exchange_words(one).graph;
      exchange.partials += cost::spmm_exchange_words(one).partials;
      two_d.graph += cost::spmm_2d_words(one).graph;
      two_d.features += cost::spmm_2d_words(one).features;
      two_d.partials += cost::spmm_2d_words(one).partials;
    }
    const double ranks = parts * shares;
    const auto mean = [&](SparseProduct spmm) {
      InferenceConfig config = tiles(parts, shares), without = config;
      config.spmm = spmm;
      std::map<std::string, double> sum;
      const InferenceProblem problem = make_inference(data, model, config);
      for (const Program& program : record_ranks(InferenceBody(problem), 2, {}))
        for (const auto& [kind, bytes] : received_by_kind(program)) sum[kind] += bytes / 4 / ranks;
      // The product with weights is the same whatever the product with the graph is.
      const InferenceProblem fetched = make_inference(data, model, without);
      for (const Program& program : record_ranks(InferenceBody(fetched), 2, {}))
        sum["send_recv"] -= received_by(program).dense / 4 / ranks;
      return sum;
    };

    auto graph = mean(SparseProduct::exchange_graph);
    const double offsets = (parts - 1) * 2 * (static_cast<double>(kVertices) / parts + 1);
    EXPECT_NEAR((graph["broadcast_sparse"] - offsets) / exchange.graph, 1, 0.02);
    EXPECT_NEAR(graph["send_recv"] / exchange.partials, 1, 0.02);
    auto square = mean(SparseProduct::two_d);
    EXPECT_NEAR(square["numbers"] / two_d.graph, 1, 0.02);
    EXPECT_NEAR(square["send_recv"] / two_d.features, 1, 0.02);
    EXPECT_NEAR(square["reduce_scatter"] / two_d.partials, 1, 0.02);
  }
}

/// A graph in which each vertex has Z out-neighbours, drawn at random.
std::shared_ptr<const Dataset> random_columns(std::int64_t vertices, std::int64_t z) {
  auto data = std::make_shared<Dataset>(*random_dataset(vertices, 1, 8, 8, false));
  EdgeList list;
  list.vertices = vertices;
  Sequence draws(3, Purpose::edges, 0);
  for (std::int64_t u = 0; u < vertices; ++u) {
    std::set<Vertex> rows;
    while (std::ssize(rows) < z) {
      const auto v = static_cast<Vertex>(draws.below(vertices));
      if (v != u) rows.insert(v);
    }
    for (const Vertex v : rows) {
      list.source.push_back(static_cast<Vertex>(u));
      list.destination.push_back(v);
    }
  }
  data->graph = std::make_shared<const Csr>(build_csr(list));
  return data;
}

/// Statistics count what a graph with such columns receives and holds, whatever the products are.
TEST(InferenceOfStatistics, CountsWhatARandomGraphReceivesAndHolds) {
  constexpr std::int64_t kVertices = 6000, kEntries = 5;
  const auto data = random_columns(kVertices, kEntries);
  GraphStatistics counts;
  counts.vertices = kVertices;
  counts.edges = kVertices * kEntries;
  counts.features = counts.classes = 8;
  counts.symmetric = false;
  for (const ModelType type : {ModelType::gcn, ModelType::gat})
    for (const auto& [spmm, sddmm] :
         {std::pair{SparseProduct::ids_then_rows, EdgeProduct::split},
          std::pair{SparseProduct::ids_then_rows, EdgeProduct::duplicated},
          std::pair{SparseProduct::exchange_graph, EdgeProduct::split},
          std::pair{SparseProduct::two_d, EdgeProduct::split}}) {
      if (type == ModelType::gat && spmm != SparseProduct::ids_then_rows) continue;
      ModelConfig model = one_layer();
      model.type = type;
      model.layers = 2;
      model.hidden = 8;
      model.heads = 2;
      model.attention = Attention::dot;
      InferenceConfig config = tiles(4, 2);
      config.spmm = spmm;
      config.sddmm = sddmm;
      config.group_bytes = spmm == SparseProduct::exchange_graph ? 0 : 4000;
      const InferenceProblem known = make_inference(data, model, config);
      InferenceProblem counted = known;
      counted.data = inference_data(counts);
      counted.graphs = make_graphs(counted);
      const auto measured = [&](const InferenceProblem& problem) {
        double received = 0, peak = 0;
        const auto programs = record_ranks(InferenceBody(problem), 3, {});
        check(programs);
        for (const Program& program : programs) {
          peak = std::max(peak, static_cast<double>(program.peak_bytes[at(Space::device)]));
          for (const auto& [kind, bytes] : received_by_kind(program)) received += bytes;
        }
        return std::pair{received, peak};
      };

      const auto [received, peak] = measured(known);
      const auto [expected, most] = measured(counted);
      EXPECT_NEAR(expected / received, 1, 0.02) << type.name << static_cast<int>(spmm);
      EXPECT_NEAR(most / peak, 1, 0.05) << type.name << static_cast<int>(spmm);
      EXPECT_EQ(known.graphs->neighbours(1), counted.graphs->neighbours(1));
    }
}

/// The same for features in files in no order, of which only the shape is known.
TEST(InferenceOfStatistics, CountsWhatRowsInFilesInNoOrderReceiveAndHold) {
  constexpr std::int64_t kVertices = 6000, kEntries = 5;
  const auto data = random_columns(kVertices, kEntries);
  const testing::RowsInDrawnOrder rows(*data);
  GraphStatistics counts;
  counts.vertices = kVertices;
  counts.edges = kVertices * kEntries;
  counts.features = counts.classes = 8;
  counts.symmetric = false;
  for (const LayerOrder order : {LayerOrder::aggregate_first, LayerOrder::transform_first})
    for (const Preparation preparation :
         {Preparation::scan, Preparation::redistribute, Preparation::fused}) {
      ModelConfig model = one_layer();
      model.order = order;
      InferenceConfig config = tiles(4, 2);
      config.preparation = preparation;
      config.group_bytes = 4000;
      const auto measured = [&](InferenceProblem problem, std::shared_ptr<const InferenceData> of,
                                std::shared_ptr<const FeatureFiles> files) {
        auto with_files = std::make_shared<InferenceData>(*of);
        with_files->feature_files = std::move(files);
        problem.data = with_files;
        problem.graphs = make_graphs(problem);
        problem.input = locate_input(problem);
        double received = 0, peak = 0, read = 0;
        const auto programs = record_ranks(InferenceBody(problem), 2, {});
        check(programs);
        for (const Program& program : programs) {
          peak = std::max(peak, static_cast<double>(program.peak_bytes[at(Space::device)]));
          for (const auto& [kind, bytes] : received_by_kind(program)) received += bytes;
          for (const Step& step : program.steps)
            if (const auto* task = std::get_if<HostStep>(&step))
              if (task->work.kind == kReadFiles) read += static_cast<double>(task->work.bytes);
        }
        return std::array{received, peak, read};
      };
      const InferenceProblem known = make_inference(data, model, config);

      const auto real = measured(known, known.data, rows.files);
      const auto counted =
          measured(known, inference_data(counts),
                   std::make_shared<const FeatureFiles>(FeatureFiles::counted(kVertices, 8)));

      const std::string way = fmt::format("order {}, preparation {}", static_cast<int>(order),
                                          static_cast<int>(preparation));
      EXPECT_NEAR(counted[0] / real[0], 1, 0.02) << way;
      // Groups of rows that lie elsewhere hold more than is counted.
      EXPECT_NEAR(counted[1] / real[1], 1, preparation == Preparation::fused ? 0.15 : 0.05) << way;
      const double whole = kVertices * 8 * 4;
      EXPECT_EQ(real[2], preparation == Preparation::scan ? 8 * whole : whole) << way;
      EXPECT_EQ(counted[2], real[2]) << way;
    }
}

TEST(InferenceMemory, OfWhatTravelsIsBoundedByTheGroups) {
  const auto data = random_dataset(300, 4000, 16, 16, false);
  std::int64_t whole = 0;
  for (const std::int64_t group_bytes : {0, 2048, 512, 64}) {
    InferenceConfig config = tiles(4, 2);
    config.group_bytes = group_bytes;
    const InferenceProblem problem = make_inference(data, one_layer(), config);
    for (const Program& program : record_ranks(InferenceBody(problem), 2, {})) {
      std::int64_t held = 0, most = 0, rows = 0;
      std::map<std::uint32_t, std::int64_t> bytes;
      for (const Step& step : program.steps) {
        if (const auto* alloc = std::get_if<AllocStep>(&step)) {
          if (alloc->name.rfind("groups/", 0) != 0) continue;
          most = std::max(most, held += bytes[alloc->tensor.id] = alloc->tensor.bytes());
          rows = std::max(rows, alloc->tensor.rows());
        } else if (const auto* release = std::get_if<ReleaseStep>(&step)) {
          held -= bytes[release->tensor.id];
        }
      }
      EXPECT_GT(most, 0);
      if (group_bytes == 0)
        whole = std::max(whole, most);
      else
        EXPECT_LE(most, 4 * group_bytes);  // two that come, two that go
      if (group_bytes == 64) {
        EXPECT_EQ(rows, 2);
      }
    }
    EXPECT_TRUE(group_bytes != 2048 || whole > 4 * 2048) << "the bound says nothing";
  }
}

/// An offset for each row of the part in each of the groups would be 300 times 8 bytes and more.
TEST(InferenceMemory, OfTheGraphDoesNotGrowWithTheNumberOfGroups) {
  const auto data = random_dataset(2000, 8000, 16, 16, false);
  const auto held = [&](std::int64_t group_bytes) {
    InferenceConfig config = tiles(4, 1);
    config.group_bytes = group_bytes;
    const InferenceProblem problem = make_inference(data, one_layer(), config);
    return record_rank(InferenceBody(problem), 1, 2, {}).peak_by_class.at("graph");
  };

  EXPECT_LT(held(256), 2 * held(0));
}

/// The ring holds 1/M of what the reduction does (Deal's Table 1).
TEST(InferenceMemory, OfTheRingIsThatOfDealsTable1) {
  const auto data = random_dataset(48, 100, 12, 8, false);
  const cost::DealSetting setting{48, 12, 0, 2, 4};
  const auto held = [&](DenseProduct gemm, std::string_view name) {
    InferenceConfig config = tiles(2, 4);
    config.gemm = gemm;
    const InferenceProblem problem = make_inference(data, one_layer(), config);
    for (const Step& step : record_rank(InferenceBody(problem), 0, 2, {}).steps)
      if (const auto* alloc = std::get_if<AllocStep>(&step); alloc && alloc->name == name)
        return static_cast<double>(alloc->tensor.bytes()) / 4;
    return 0.0;
  };

  EXPECT_EQ(held(DenseProduct::ring, "scratch/whole rows"),
            cost::gemm_rotate_held_words(setting, 8));
  EXPECT_EQ(held(DenseProduct::reduce, "scratch/partial sums"),
            cost::gemm_reduce_held_words(setting, 8));
}

/// Two activations at a time, whatever the number of layers.
TEST(InferenceMemory, DoesNotGrowWithTheNumberOfLayers) {
  const auto data = random_dataset(500, 2000, 16, 16, false);
  const auto activations = [&](int layers) {
    ModelConfig model;
    model.hidden = 16;
    model.layers = layers;
    const InferenceProblem problem = make_inference(data, model, tiles(2, 2));
    return record_rank(InferenceBody(problem), 0, layers + 1, {}).peak_by_class.at("activations");
  };

  EXPECT_EQ(activations(6), activations(3));
}

/// While a group is multiplied, the rows of the next one and the numbers of the one after it are
/// under way: they set out before it is.
TEST(InferencePipeline, SendsNumbersTwoGroupsAheadAndRowsOneAhead) {
  const auto data = random_dataset(200, 4000, 16, 16, false);
  InferenceConfig config = tiles(2, 1);
  config.group_bytes = 16 * 4 * 20;  // 20 rows: 5 groups of 100
  const InferenceProblem problem = make_inference(data, one_layer(), config);
  std::string order;

  for (const Step& step : record_rank(InferenceBody(problem), 0, 1, {}).steps) {
    const auto* submit = std::get_if<SubmitStep>(&step);
    if (submit == nullptr) continue;
    if (kind_of(submit->op) == "spmm") order += 'A';
    if (kind_of(submit->op) == "send_recv") order += submit->lane == Lane::comm2 ? 'n' : 'r';
  }

  EXPECT_EQ(order,
            "nn"
            "rA"
            "rnA"
            "rnA"
            "rnA"
            "rA"
            "A");
}

}  // namespace
}  // namespace orrery
