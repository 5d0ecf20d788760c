#include "core/strategy/part_batches.hpp"

#include <utility>

#include "core/base/index.hpp"
#include "core/base/rng.hpp"

namespace orrery {
namespace {

/// A batch of a part, in the part's numbers except for `vertices`.
struct PartBatch {
  std::shared_ptr<const SampledBatch> batch;
  VertexData data;
  std::vector<EdgeStructure> edges;
};

class PartBatchProducts final : public BatchProducts {
 public:
  using BatchProducts::BatchProducts;
  std::optional<Group> gradient_group() const override { return std::nullopt; }
};

}  // namespace

PartBatches::PartBatches(std::shared_ptr<const Subgraphs> parts, const ModelConfig& model,
                         const DataFacts& facts, std::int64_t batch, std::vector<int> fanouts,
                         std::uint64_t seed)
    : parts_(std::move(parts)),
      model_(model),
      batch_(batch),
      sampling_{
          fanouts.empty() ? std::vector<int>(at(model.layers), kAllNeighbours) : std::move(fanouts),
          NeighbourRule::uniform},
      first_adjoint_(first_layer_needs_adjoint(model, facts)),
      seed_(seed),
      sampled_(parts_->parts()) {}

int PartBatches::count(int part) const {
  return static_cast<int>((parts_->training_vertices(part) + batch_ - 1) / batch_);
}

std::int64_t PartBatches::seeds(int part, int number) const {
  return std::min(batch_, parts_->training_vertices(part) - number * batch_);
}

std::unique_ptr<const PartBatches::Sampled> PartBatches::sampled(int part) const {
  auto made = std::make_unique<Sampled>();
  made->part = parts_->part(part);
  const SparseMatrix& a = made->part->a;
  made->graph.rows = made->graph.cols = a.rows();
  made->diagonal.resize(at(a.rows()));
  for (std::int64_t v = 0; v < a.rows(); ++v) {
    const auto row = a.csr().row(v);
    for (std::size_t e = 0; e < row.size(); ++e) {
      const float value = a.row_values(v)[e];
      if (row[e] == v) {
        made->diagonal[at(v)] = value;
        continue;
      }
      made->graph.columns.push_back(row[e]);
      made->values.push_back(value);
    }
    made->graph.offsets.push_back(made->graph.nnz());
  }
  const IndexList training = made->part->data.targets(Split::train, made->part->at_distance(0));
  made->seeds.emplace(Seeds::from_own({*training.numbers()}, batch_, part_seed(part)));
  made->sampler = std::make_unique<const NeighbourSampler>(made->graph, sampling_);
  return made;
}

/// Parts number their vertices alike, but must not draw alike.
std::uint64_t PartBatches::part_seed(int part) const {
  constexpr std::uint32_t kOfPart = 0xFFFFFFFDU;  // no epoch
  return derived_seed(seed_, Purpose::sampler, kOfPart, static_cast<std::uint32_t>(part));
}

/// If k of d neighbours of a row were drawn, its entries count d/k times.
SampledBatch::Layer PartBatches::cut(const Sampled& from, const MessageFlow& flow,
                                     int layer) const {
  const Csr& block = flow.blocks[at(layer - 1)];
  const std::vector<EdgeIndex>& edges = flow.edges[at(layer - 1)];
  RowBuilder rows(block.rows, block.cols);
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const Vertex v = flow.vertices[at(r)];
    if (const auto own = from.diagonal[at(v)]) rows.add(static_cast<Vertex>(r), *own);
    const auto times =
        static_cast<float>(from.graph.degree(v)) / static_cast<float>(block.degree(r));
    for (EdgeIndex e = block.offsets[at(r)]; e < block.offsets[at(r) + 1]; ++e)
      rows.add(block.columns[at(e)], times * from.values[at(edges[at(e)])]);
    rows.end_row();
  }
  SampledBatch::Layer made{rows.finish(), std::nullopt};
  if (layer > 1 || first_adjoint_) made.adjoint = transpose(made.forward);
  return made;
}

std::pair<SampledBatch, VertexData> PartBatches::make(int part, int epoch, int number) const {
  const Sampled& from = *sampled_.get(part, [&] { return sampled(part); });
  const std::vector<Vertex> seeds = from.seeds->of(0, epoch, number);
  NeighbourSampler::Scratch scratch = from.sampler->scratch(std::ssize(seeds));
  const DrawKey key{part_seed(part), static_cast<std::uint32_t>(epoch),
                    static_cast<std::uint32_t>(number)};
  const MessageFlow flow = from.sampler->sample(seeds, key, scratch, true);
  SampledBatch made;
  made.edges = flow.sampled_edges();
  made.rows = flow.rows;
  for (int layer = 1; layer <= flow.layers(); ++layer)
    made.layers.push_back(cut(from, flow, layer));
  auto vertices = std::make_shared<std::vector<Vertex>>(flow.vertices);
  for (Vertex& v : *vertices) v = (*from.part->vertices)[at(v)];
  made.vertices = std::move(vertices);
  return {std::move(made), from.part->data.of(flow.vertices)};
}

std::shared_ptr<const Structure> PartBatches::prepare(int part, int epoch, int number) const {
  auto [made, data] = make(part, epoch, number);
  const HostWork work = drawing_work(made.edges);
  std::vector<EdgeStructure> edges = edges_of(model_, made);
  return make_structure(PartBatch{std::make_shared<const SampledBatch>(std::move(made)),
                                  std::move(data), std::move(edges)},
                        work);
}

bool is_part_batch(const Structure& structure) {
  return dynamic_cast<const StructureOf<PartBatch>*>(&structure) != nullptr;
}

std::unique_ptr<RankProducts> load_part_batch(Runtime& rt,
                                              std::shared_ptr<const Structure> structure) {
  const auto& [batch, data, edges] = content_of<PartBatch>(*structure);
  return std::make_unique<PartBatchProducts>(rt, batch, data, edges);
}

}  // namespace orrery
