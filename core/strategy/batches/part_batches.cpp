#include "core/strategy/batches/part_batches.hpp"

#include <algorithm>
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
      sampled_(parts_->parts()),
      counted_(std::make_shared<OncePerRank<std::unique_ptr<const Counted>>>(parts_->parts())) {}

PartBatches::PartBatches(const PartBatches& drawn, std::int64_t batch)
    : parts_(drawn.parts_),
      model_(drawn.model_),
      batch_(batch),
      sampling_(drawn.sampling_),
      first_adjoint_(drawn.first_adjoint_),
      seed_(drawn.seed_),
      sampled_(0),
      counted_(drawn.counted_),
      draws_(false) {}

int PartBatches::count(int part) const {
  if (!draws_) return parts_->training_vertices(part) > 0 ? kAhead.together() : 0;
  return static_cast<int>((parts_->training_vertices(part) + batch_ - 1) / batch_);
}

std::int64_t PartBatches::seeds(int part, int number) const {
  if (!draws_) return std::min(batch_, parts_->training_vertices(part));
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
  if (has_adjoint(layer)) made.adjoint = transpose(made.forward);
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

std::unique_ptr<const PartBatches::Counted> PartBatches::counted(int part) const {
  const auto held = parts_->part(part);
  const SparseMatrix& a = held->a;
  auto made = std::make_unique<Counted>();
  made->vertices = a.rows();
  made->entries = a.nnz();
  made->drawn.assign(sampling_.fanouts.size(), 0);
  for (std::int64_t v = 0; v < a.rows(); ++v) {
    const auto row = a.csr().row(v);
    const std::int64_t loops = std::count(row.begin(), row.end(), static_cast<Vertex>(v));
    const std::int64_t others = std::ssize(row) - loops;
    made->diagonal += loops > 0 ? 1 : 0;
    for (std::size_t hop = 0; hop < made->drawn.size(); ++hop) {
      const int fanout = sampling_.fanouts[hop];
      made->drawn[hop] +=
          fanout == kAllNeighbours ? others : std::min<std::int64_t>(fanout, others);
    }
  }
  return made;
}

/// Every number is at its bound by itself, as in SampledBatches::bounds().
SampledBatch PartBatches::largest(int part) const {
  const Counted& held = *counted_->get(part, [&] { return counted(part); });
  SampledBatch made;
  made.rows = {seeds(part, 0)};
  for (std::size_t hop = 0; hop < held.drawn.size(); ++hop) {
    const std::int64_t rows = made.rows.front(), each = sampling_.fanouts[hop];
    const std::int64_t edges =
        each == kAllNeighbours ? held.drawn[hop] : std::min(held.drawn[hop], rows * each);
    const std::int64_t columns = std::min(held.vertices, rows + edges);
    const std::int64_t entries = edges + std::min(rows, held.diagonal);
    SampledBatch::Layer layer{{Counts{rows, columns, entries}, nullptr}, std::nullopt};
    if (has_adjoint(static_cast<int>(held.drawn.size() - hop)))
      layer.adjoint = SparseMatrix{Counts{columns, rows, entries}, nullptr};
    made.layers.insert(made.layers.begin(), std::move(layer));
    made.rows.insert(made.rows.begin(), columns);
    made.edges += edges;
  }
  return made;
}

std::shared_ptr<const Structure> PartBatches::prepare(int part, int epoch, int number) const {
  if (!draws_) {
    auto batch = std::make_shared<const SampledBatch>(largest(part));
    const Counted& held = *counted_->get(part, [&] { return counted(part); });
    const HostWork work = drawing_work(batch->edges, structure_bytes(held.vertices, held.entries));
    const std::int64_t own = batch->rows.back();
    std::vector<EdgeStructure> edges = edges_of(model_, *batch);
    const VertexData data(batch->rows.front(), own, {own, own, own});
    return make_structure(PartBatch{std::move(batch), data, std::move(edges)}, work);
  }
  auto [made, data] = make(part, epoch, number);
  const Csr& graph = sampled_.get(part, [&] { return sampled(part); })->graph;
  const HostWork work = drawing_work(made.edges, structure_bytes(graph.rows, graph.nnz()));
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
