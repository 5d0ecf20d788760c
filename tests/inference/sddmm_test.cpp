// Numbers of edges on tiles: their values, and what ranks receive for them, against Deal's example and
// Table 3.
#include "core/inference/tile_sddmm.hpp"

#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "core/cost/deal.hpp"
#include "core/runtime/check/check.hpp"
#include "core/runtime/recording.hpp"
#include "tests/support/inferences.hpp"

namespace orrery {
namespace {

using testing::random_dataset;

/// Entry (v, c) of two matrices that have nothing in common.
float x_at(std::int64_t v, std::int64_t c) { return static_cast<float>((v * 7 + c * 3) % 11 - 5); }
float z_at(std::int64_t v, std::int64_t c) { return static_cast<float>((v * 5 + c * 2) % 13 - 6); }

using Entries = std::map<std::pair<Vertex, Vertex>, float>;

/// One product of two matrices on tiles, whose numbers all ranks of a part have in the end.
class SddmmBody final : public Body {
 public:
  SddmmBody(const Csr& graph, const InferenceConfig& config, std::int64_t width)
      : config_(config),
        width_(width),
        graphs_(all_rows(graph, false), sage(), {graph.rows, config.rows, config.columns},
                {.layers = 1, .lists = lists_for(config, true)}) {}

  int ranks() const override { return graphs_.layout().ranks(); }
  int epochs() const override { return 1; }
  void run(Runtime& rt, RunObserver& observer, const RunControl&) const override {
    rt.phase({Stage::setup});
    const TileLayout& layout = graphs_.layout();
    const int part = layout.part_of(rt.rank());
    const Share rows = layout.rows(part),
                columns = layout.columns(width_, layout.column_of(rt.rank()));
    const auto tile = [&](const auto& entry) {
      auto values = std::make_shared<std::vector<float>>();
      for (std::int64_t v = rows.first; v < rows.end(); ++v)
        for (std::int64_t c = columns.first; c < columns.end(); ++c) values->push_back(entry(v, c));
      Buffer made(rt, {rows.count, columns.count}, DType::f32, "activations/tile");
      rt.submit(Lane::compute, Load{FloatArray{std::move(values)}, made.tensor()});
      return made;
    };
    const Buffer x = tile(x_at), z = tile(z_at);
    TileSddmm product(rt, graphs_, config_);
    product.begin(1, WholeRows::shares_of(layout, width_), 1, true);
    rt.phase({Stage::forward, 0, 1});
    product.set_out();
    const Buffer all(rt, {graphs_.entries_of(rows), 1}, DType::f32, "activations/numbers");
    Buffer some;
    if (product.exchanges())
      some = Buffer(rt, {product.pattern().nnz, 1}, DType::f32, "activations/own numbers");
    const Tensor own = some ? some.tensor() : all.tensor();
    product.multiply(x.tensor(), z.tensor(), own);
    product.exchange(own, all.tensor());
    const auto saved = std::make_shared<std::vector<float>>();
    rt.wait(Lane::copy, rt.record(Lane::compute));
    rt.submit(Lane::copy, Save{all.tensor(), saved});
    product.end();
    rt.sync(rt.record(Lane::copy));
    keep(part, *saved);
    const EpochReport report{0, std::nullopt, std::nullopt, 0};
    observer.epochs_done({&report, 1});
  }

  mutable std::vector<Entries> found;  ///< of each rank that was run

 private:
  static ModelConfig sage() {
    ModelConfig model;
    model.type = ModelType::sage;
    return model;
  }
  /// Keeps the numbers by vertices, in the order of PartEdges.
  void keep(int part, const std::vector<float>& numbers) const {
    if (numbers.empty()) return;
    const TileLayout& layout = graphs_.layout();
    const PartRows cut = graphs_.cut(1, part, 1000000);
    const PartEdges edges = edges_of(cut);
    const Share rows = layout.rows(part);
    std::vector<Vertex> sources;
    for (std::int64_t v = rows.first; v < rows.end(); ++v)
      sources.push_back(static_cast<Vertex>(v));
    for (const RemoteGroup& group : cut.groups)
      for (std::int64_t i = 0; i < group.count; ++i)
        sources.push_back(
            static_cast<Vertex>(layout.rows((part + group.shift) % layout.row_parts).first +
                                (*cut.numbers.numbers())[at(group.first + i)]));
    Entries mine;
    std::size_t e = 0;
    for (std::int64_t r = 0; r < rows.count; ++r)
      for (const Vertex c : std::get<std::shared_ptr<const Csr>>(edges.pattern)->row(r))
        mine[{static_cast<Vertex>(rows.first + r), sources[at(c)]}] = numbers[e++];
    const std::lock_guard lock(mutex_);
    found.push_back(std::move(mine));
  }

  InferenceConfig config_;
  std::int64_t width_;
  LayerGraphs graphs_;
  mutable std::mutex mutex_;
};

InferenceConfig tiles(int rows, int columns, EdgeProduct sddmm, std::int64_t group_bytes = 0) {
  InferenceConfig config;
  config.rows = rows;
  config.columns = columns;
  config.sddmm = sddmm;
  config.group_bytes = group_bytes;
  return config;
}

TEST(TileSddmm, ComputesTheDotsOfTwoMatricesOnAnyTiles) {
  const auto data = random_dataset(37, 150, 3, 2, false);
  const Csr graph = without_self_loops(*data->graph);
  for (const auto& [rows, columns] : {std::pair{1, 1}, std::pair{3, 2}, std::pair{2, 5}})
    for (const EdgeProduct sddmm : {EdgeProduct::split, EdgeProduct::duplicated})
      for (const std::int64_t group_bytes : {0, 50}) {
        const SddmmBody body(graph, tiles(rows, columns, sddmm, group_bytes), 4);
        check(record_ranks(body, 1, {}));
        execute_on_threads(body, testing::on_reference_kernels(), {});

        ASSERT_EQ(body.found.size(), at(rows * columns));
        for (const Entries& mine : body.found)
          for (const auto& [edge, number] : mine) {
            float expected = 0;
            for (std::int64_t c = 0; c < 4; ++c)
              expected += x_at(edge.first, c) * z_at(edge.second, c);
            ASSERT_EQ(number, expected) << edge.first << " from " << edge.second;
          }
        std::int64_t entries = 0;
        for (const Entries& mine : body.found) entries += std::ssize(mine);
        EXPECT_EQ(entries, columns * graph.nnz());
      }
}

/// Words of rows and of results that a rank receives.
cost::SddmmWords received_by(const Program& program) {
  cost::SddmmWords words;
  int epoch = -1;
  for (const Step& step : program.steps) {
    if (const auto* phase = std::get_if<PhaseStep>(&step)) epoch = phase->phase.epoch;
    const auto* submit = std::get_if<SubmitStep>(&step);
    if (submit == nullptr || epoch != 0 || submit->lane != Lane::comm) continue;
    received_bytes(submit->op, program.rank, [&](int, double bytes) {
      (kind_of(submit->op) == "all_gather" ? words.results : words.features) += bytes / 4;
    });
  }
  return words;
}

/// Figures 6 and 10: machines 0 and 1 have rows 0 to 3 and two of four columns each. Rows 0 and 1 have
/// three entries and rows 2 and 3 have five; of the columns 5, 6 and 7 are remote.
TEST(TileSddmm, ReceivesWhatDealsFigure10Says) {
  EdgeList list;
  list.vertices = 8;
  for (const auto& [to, from] : {std::pair{0, 1},
                                 {0, 2},
                                 {1, 6},
                                 {2, 3},
                                 {2, 5},
                                 {2, 7},
                                 {3, 2},
                                 {3, 5},
                                 {4, 1},
                                 {5, 4},
                                 {6, 2},
                                 {7, 6}}) {
    list.source.push_back(from);
    list.destination.push_back(to);
  }
  const Csr graph = build_csr(list);
  const auto words = [&](EdgeProduct sddmm, int rank) {
    const SddmmBody body(graph, tiles(2, 2, sddmm), 4);
    return received_by(record_ranks(body, 1, {})[at(rank)]).total();
  };

  EXPECT_EQ(words(EdgeProduct::duplicated, 0), 26);
  EXPECT_EQ(words(EdgeProduct::split, 0), 17);
  EXPECT_EQ(words(EdgeProduct::split, 1), 19);
}

TEST(TileSddmm, ReceivesWhatDealsTable3SaysOfRandomGraphs) {
  constexpr std::int64_t kVertices = 6000, kEntries = 5, kWidth = 8;
  const auto data = random_dataset(kVertices, kVertices * kEntries, 2, 2, false);
  const Csr graph = without_self_loops(*data->graph), columns = transpose(graph);
  for (const auto& [parts, shares] : {std::pair{4, 2}, std::pair{2, 4}}) {
    cost::SddmmWords duplicated, split;
    for (std::int64_t u = 0; u < kVertices; ++u) {
      const cost::DealSetting one{1, kWidth, static_cast<double>(columns.degree(u)),
                                  static_cast<double>(parts), static_cast<double>(shares)};
      duplicated.features += cost::sddmm_duplicate_words(one).features;
      split.features += cost::sddmm_split_words(one).features;
      split.results += cost::sddmm_split_words(one).results;
    }
    const auto mean = [&](EdgeProduct sddmm) {
      cost::SddmmWords sum;
      for (const Program& program :
           record_ranks(SddmmBody(graph, tiles(parts, shares, sddmm), kWidth), 1, {})) {
        sum.features += received_by(program).features / (parts * shares);
        sum.results += received_by(program).results / (parts * shares);
      }
      return sum;
    };

    EXPECT_NEAR(mean(EdgeProduct::duplicated).features / duplicated.features, 1, 0.02);
    EXPECT_EQ(mean(EdgeProduct::duplicated).results, 0);
    EXPECT_NEAR(mean(EdgeProduct::split).features / split.features, 1, 0.02);
    EXPECT_NEAR(mean(EdgeProduct::split).results / split.results, 1, 0.02);
  }
}

}  // namespace
}  // namespace orrery
