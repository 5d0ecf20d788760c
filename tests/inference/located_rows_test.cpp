// Features in files in no order: the same embeddings however they are prepared, and the bytes of each way
// by brute force.
#include "core/inference/located_rows.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/files/npy.hpp"
#include "core/runtime/recording.hpp"
#include "tests/support/inferences.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::Logits;

class RowsInFiles : public ::testing::Test {
 protected:
  static constexpr std::int64_t kVertices = 61, kWidth = 10;

  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("rows_in_files" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    data_ = testing::random_dataset(kVertices, 260, kWidth, 5, true);
    order_.resize(kVertices);
    std::iota(order_.begin(), order_.end(), 0);
    Sequence draws(9, Purpose::permutation, 0);
    for (std::size_t i = order_.size(); i > 1; --i)
      std::swap(order_[i - 1], order_[draws.below(i)]);
    write<std::int32_t>("a.npy", "<i4", 0, 20);
    write<std::uint64_t>("b.npy", "<u8", 20, 20);  // no rows
    write<std::uint32_t>("c.npy", "<u4", 20, 21);
    write<std::int64_t>("d.npy", "<i8", 21, kVertices);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// The rows at places [begin, end).
  template <class Id>
  void write(const std::string& name, const char* type, std::size_t begin, std::size_t end) const {
    const std::vector<Vertex> vertices(order_.begin() + static_cast<std::ptrdiff_t>(begin),
                                       order_.begin() + static_cast<std::ptrdiff_t>(end));
    std::vector<float> rows(vertices.size() * kWidth);
    data_->features->read(vertices, 0, kWidth, rows.data(), kWidth);
    const auto count = static_cast<std::int64_t>(vertices.size());
    NpyWriter file = NpyWriter::create<float>(folder_ / ("rows-" + name), {count, kWidth});
    file.append(std::span<const float>(rows));
    file.close();
    const std::vector<Id> ids(vertices.begin(), vertices.end());
    write_ids(name, type, ids);
  }
  template <class Id>
  void write_ids(const std::string& name, const char* type, const std::vector<Id>& ids) const {
    std::ofstream out(folder_ / ("ids-" + name), std::ios::binary);
    out << npy_header_bytes(type, {static_cast<std::int64_t>(ids.size())});
    out.write(reinterpret_cast<const char*>(ids.data()),
              static_cast<std::streamsize>(ids.size() * sizeof(Id)));
  }
  std::string problem(std::int64_t vertices = kVertices) const {
    try {
      const FeatureFiles files(folder_, vertices);
    } catch (const DataError& error) {
      return error.what();
    }
    return "nothing";
  }
  /// With features in files, prepared so.
  InferenceProblem in_files(const ModelConfig& model, InferenceConfig config,
                            Preparation preparation) const {
    config.preparation = preparation;
    InferenceProblem made = testing::make_inference(data_, model, config);
    auto data = std::make_shared<InferenceData>(*made.data);
    data->feature_files = std::make_shared<const FeatureFiles>(folder_, kVertices);
    data->features = preparation == Preparation::scan ? scanned_features(data->feature_files)
                                                      : located_features(data->feature_files);
    made.data = data;
    made.input = locate_input(made);
    return made;
  }
  /// Bytes that all ranks receive, as recorded; real execution must receive as many.
  static double received(const InferenceProblem& problem) {
    const InferenceBody body(problem);
    double planned = 0, real = 0;
    for (int rank = 0; rank < body.ranks(); ++rank) {
      const Program program = record_rank(body, rank, body.epochs(), {});
      for (const Step& step : program.steps)
        if (const auto* submit = std::get_if<SubmitStep>(&step))
          received_bytes(submit->op, rank, [&](int, double bytes) { planned += bytes; });
    }
    const Outcome outcome = execute_on_threads(body, testing::on_reference_kernels(), {});
    for (const RankOutcome& rank : outcome.ranks)
      for (const std::int64_t bytes : rank.received_from) real += static_cast<double>(bytes);
    EXPECT_EQ(planned, real);
    return planned;
  }

  fs::path folder_;
  std::shared_ptr<const Dataset> data_;
  std::vector<Vertex> order_;  ///< the vertex of each place
};

TEST_F(RowsInFiles, AreTheFeaturesOfTheirVertices) {
  const auto files = std::make_shared<const FeatureFiles>(folder_, kVertices);
  EXPECT_EQ(files->width(), kWidth);
  EXPECT_EQ(files->bytes(), kVertices * kWidth * 4);
  const std::vector<Vertex> some{4, 60, 0, 33};
  std::vector<float> expected(some.size() * 3), found(some.size() * 3);
  data_->features->read(some, 5, 3, expected.data(), 3);
  for (const auto& features : {located_features(files), scanned_features(files)}) {
    features->read(some, 5, 3, found.data(), 3);
    EXPECT_EQ(found, expected) << features->provenance();
  }
  for (std::int64_t place = 0; place < kVertices; ++place)
    EXPECT_EQ(files->place_of(files->vertex_at(place)), place);
}

TEST_F(RowsInFiles, ThatDoNotFitTogetherAreErrors) {
  EXPECT_THAT(problem(60), HasSubstr("expected vertices from 0 to 59, found 60"));
  EXPECT_THAT(problem(62), HasSubstr("found none for vertex 61"));
  write_ids<std::int64_t>("d.npy", "<i8", std::vector<std::int64_t>(40, order_[0]));
  EXPECT_THAT(problem(), HasSubstr("already has a row, number 0 of all files"));
  write_ids<std::int64_t>("d.npy", "<i8", std::vector<std::int64_t>(39, 0));
  EXPECT_THAT(problem(), HasSubstr("ids-d.npy"));
  write_ids<std::int64_t>("d.npy", "<i8", std::vector<std::int64_t>(40, -1));
  EXPECT_THAT(problem(), HasSubstr("found -1"));
  write_ids<std::int64_t>("d.npy", "<f8", std::vector<std::int64_t>(40, 0));
  EXPECT_THAT(problem(), HasSubstr("found '<f8'"));
  fs::remove(folder_ / "ids-d.npy");
  EXPECT_THAT(problem(), HasSubstr("ids-d.npy"));
  fs::remove_all(folder_);
  EXPECT_THAT(problem(), HasSubstr("cannot be read as a folder"));
  fs::create_directories(folder_);
  EXPECT_THAT(problem(), HasSubstr("found none"));
}

TEST_F(RowsInFiles, GiveTheSameEmbeddingsHoweverTheyArePrepared) {
  std::vector<ModelConfig> models;
  for (const ModelType type : {ModelType::gcn, ModelType::sage})
    for (const LayerOrder order : {LayerOrder::aggregate_first, LayerOrder::transform_first}) {
      ModelConfig model;
      model.type = type;
      model.order = order;
      models.push_back(model);
    }
  ModelConfig residual = models[0];
  residual.residual = true;
  residual.dense_layers = 1;
  models.push_back(residual);
  for (const ModelType type : {ModelType::gat, ModelType::resgcn}) {
    ModelConfig model;
    model.type = type;
    model.heads = 2;
    models.push_back(model);
  }
  struct Way {
    int rows, columns;
    std::int64_t group_bytes;
  };
  for (std::size_t m = 0; m < models.size(); ++m) {
    ModelConfig& model = models[m];
    model.layers = 2;
    model.hidden = 8;
    std::vector<Way> ways{{3, 1, 120}, {2, 3, m % 2 == 0 ? 0 : 120}};
    if (m == 0) ways.push_back({1, 11, 0});  // more shares than columns
    for (const Way& way : ways) {
      InferenceConfig config;
      config.rows = way.rows;
      config.columns = way.columns;
      config.group_bytes = way.group_bytes;
      config.fanout = way.columns == 1 ? 3 : kAllNeighbours;
      const Logits expected = testing::infer(testing::make_inference(data_, model, config));
      for (const Preparation preparation :
           {Preparation::scan, Preparation::redistribute, Preparation::fused})
        ASSERT_LT(testing::largest_difference(testing::infer(in_files(model, config, preparation)),
                                              expected),
                  3e-6)
            << model.type.name << " " << way.rows << " x " << way.columns << ", preparation "
            << static_cast<int>(preparation);
    }
  }
}

/// Only the first part needs many rows: the others have no rows left when its last groups come.
TEST_F(RowsInFiles, OfWhichPartsNeedUnequallyManyGiveTheSameEmbeddings) {
  EdgeList list;
  list.vertices = kVertices;
  for (Vertex v = 0; v < kVertices; ++v) {
    list.source.push_back(v);
    list.destination.push_back(v % 15);  // of the first of four parts
  }
  auto data = std::make_shared<Dataset>(*data_);
  data->graph = std::make_shared<const Csr>(build_csr(list));
  data->symmetric = false;
  data_ = data;
  ModelConfig model;
  model.type = ModelType::sage;
  model.order = LayerOrder::aggregate_first;
  model.hidden = 8;
  InferenceConfig config;
  config.rows = 4;
  config.group_bytes = 2 * kWidth * 4;  // two rows

  const InferenceProblem fused = in_files(model, config, Preparation::fused);

  EXPECT_LT(
      testing::largest_difference(testing::infer(fused),
                                  testing::infer(testing::make_inference(data_, model, config))),
      3e-6);
  received(fused);
}

/// Brute force: what is received beside what a rank that reads its own tile receives.
TEST_F(RowsInFiles, TravelAsOftenAsTheyMust) {
  ModelConfig model;
  model.layers = 1;
  model.hidden = 8;
  const Csr& graph = *data_->graph;
  for (const auto& [rows, columns] : {std::pair{3, 1}, std::pair{2, 2}, std::pair{4, 3}}) {
    InferenceConfig config;
    config.rows = rows;
    config.columns = columns;
    config.group_bytes = 200;
    config.gemm = DenseProduct::reduce;
    const TileLayout layout{kVertices, rows, columns};
    const int ranks = layout.ranks();
    const auto share_holding = [&](std::int64_t i) {
      int k = 0;
      while (!share_of(kVertices, ranks, k).contains(i)) ++k;
      return k;
    };
    std::vector<int> reader(kVertices);
    for (std::int64_t place = 0; place < kVertices; ++place)
      reader[at(order_[at(place)])] = share_holding(place);
    double redistributed = 0, projected = 0, asked = 0, fetched = 0;
    for (int p = 0; p < rows; ++p)
      for (int k = 0; k < columns; ++k) {
        const double wide = 4.0 * static_cast<double>(layout.columns(kWidth, k).count),
                     out = 4.0 * static_cast<double>(layout.columns(5, k).count);
        std::set<Vertex> met;
        const Share mine = layout.rows(p);
        for (std::int64_t v = mine.first; v < mine.end(); ++v) {
          const bool here = reader[at(v)] == layout.rank_of(p, k);
          redistributed += here ? 0 : wide;
          projected += here ? 0 : out;
          met.insert(static_cast<Vertex>(v));
          for (const Vertex u : graph.row(v)) met.insert(u);
        }
        for (const Vertex u : met) {
          asked += reader[at(u)] == layout.rank_of(p, k) ? 0 : 4 + wide;
          fetched += mine.contains(u) ? 0 : 4 + wide;
        }
      }

    model.order = LayerOrder::aggregate_first;
    const double own = received(in_files(model, config, Preparation::scan));
    EXPECT_EQ(own, received(testing::make_inference(data_, model, config)));
    EXPECT_EQ(received(in_files(model, config, Preparation::redistribute)), own + redistributed);
    EXPECT_EQ(received(in_files(model, config, Preparation::fused)), own - fetched + asked);

    model.order = LayerOrder::transform_first;
    const double first = received(in_files(model, config, Preparation::scan));
    EXPECT_EQ(received(in_files(model, config, Preparation::redistribute)), first + redistributed);
    // Whole rows are multiplied: the ranks of a part have no partial sums to add up.
    double sums = 0;
    if (columns > 1)
      for (int p = 0; p < rows; ++p)
        sums += 4.0 * static_cast<double>((columns - 1) * layout.rows(p).count * 5);
    EXPECT_EQ(received(in_files(model, config, Preparation::fused)), first - sums + projected);
  }
}

}  // namespace
}  // namespace orrery
