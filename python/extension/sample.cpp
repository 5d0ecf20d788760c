// Message-flow graphs of batches, drawn for loops that are written in Python.
#include <fmt/core.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <optional>
#include <utility>

#include "core/base/error.hpp"
#include "core/sample/neighbour_sampler.hpp"
#include "core/sample/seeds.hpp"
#include "python/extension/arrays.hpp"
#include "python/extension/parts_of_module.hpp"

namespace orrery::python {
namespace {

NeighbourRule rule_named(const std::string& name) {
  if (name == "uniform") return NeighbourRule::uniform;
  if (name == "replacement") return NeighbourRule::replacement;
  if (name == "weighted") return NeighbourRule::weighted;
  if (name == "labor") return NeighbourRule::labor;
  throw ConfigError("rule", fmt::format("unknown \"{}\"; there are uniform, replacement, weighted, "
                                        "labor",
                                        name));
}

/// A sampler with the memory that its threads work in; any number of threads may sample at once.
class Sampler {
 public:
  Sampler(const Csr& graph, std::vector<int> fanouts, const std::string& rule,
          const Array<float>& weights, std::int64_t most_seeds)
      : vertices_(graph.rows), most_seeds_(most_seeds) {
    if (graph.rows != graph.cols) throw ShapeError("sample: expected a square graph");
    if (weights.shape(0) != 0 && weights.shape(0) != at(graph.nnz()))
      throw ShapeError(fmt::format("weights: expected one for each of {} edges, found {}",
                                   graph.nnz(), weights.shape(0)));
    std::size_t place = 0;
    for (const float weight : span_of(weights)) {
      if (!(weight >= 0) || weight > 3.4e38F)
        throw DataError(fmt::format("weights[{}]", place), "",
                        fmt::format("expected a finite number >= 0, found {}", weight));
      ++place;
    }
    sampler_.emplace(graph, NeighbourSampling{std::move(fanouts), rule_named(rule)},
                     span_of(weights));
  }

  MessageFlow sample(const Array<Vertex>& seeds, std::uint64_t seed, std::uint32_t epoch,
                     std::uint32_t step, bool with_edges) {
    const auto asked = span_of(seeds);
    const nb::gil_scoped_release released;
    if (static_cast<std::int64_t>(asked.size()) > most_seeds_)
      throw ShapeError(
          fmt::format("seeds: the sampler was made for at most {} in a batch, found {}",
                      most_seeds_, asked.size()));
    for (std::size_t i = 0; i < asked.size(); ++i)
      if (asked[i] < 0 || asked[i] >= vertices_)
        throw DataError(
            fmt::format("seeds[{}]", i), "",
            fmt::format("expected a vertex from 0 to {}, found {}", vertices_ - 1, asked[i]));
    NeighbourSampler::Scratch scratch = take_scratch();
    // A scratch that an error left half used is dropped.
    MessageFlow flow = sampler_->sample(asked, {seed, epoch, step}, scratch, with_edges);
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(scratch));
    return flow;
  }

 private:
  NeighbourSampler::Scratch take_scratch() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return sampler_->scratch(most_seeds_);
    NeighbourSampler::Scratch scratch = std::move(free_.back());
    free_.pop_back();
    return scratch;
  }

  std::int64_t vertices_, most_seeds_;
  std::optional<NeighbourSampler> sampler_;
  std::mutex mutex_;
  std::vector<NeighbourSampler::Scratch> free_;
};

void add_message_flow(nb::module_& module) {
  nb::class_<MessageFlow>(module, "MessageFlow",
                          "What a batch computes. Level 0 is the model's input, the last level the "
                          "seeds; level l has the first rows[l] of the vertices, so a vertex keeps "
                          "its row from level to level, and the seeds come first.")
      .def_prop_ro(
          "vertices",
          [](nb::handle self) {
            return view_of(std::span<const Vertex>(nb::cast<MessageFlow&>(self).vertices), self);
          },
          "int32 [rows[0]]: global numbers of the rows; take the features of these")
      .def_prop_ro(
          "seeds",
          [](nb::handle self) {
            const auto& flow = nb::cast<MessageFlow&>(self);
            return view_of(std::span(flow.vertices).first(at(flow.rows.back())), self);
          },
          "int32 [rows[-1]]: the vertices that get a result")
      .def_ro("rows", &MessageFlow::rows, "list [layers + 1]: rows of each level")
      .def_prop_ro(
          "blocks",
          [](nb::handle self) {
            auto& flow = nb::cast<MessageFlow&>(self);
            nb::list blocks;
            for (Csr& block : flow.blocks)
              blocks.append(nb::cast(block, nb::rv_policy::reference_internal, self));
            return blocks;
          },
          "list [layers] of Csr: block l is [rows[l + 1], rows[l]]; row i aggregates row j of the "
          "level below where (i, j) is an entry. Columns are in the order of the draws")
      .def_prop_ro(
          "edges",
          [](nb::handle self) {
            auto& flow = nb::cast<MessageFlow&>(self);
            nb::list edges;
            for (const auto& of_layer : flow.edges)
              edges.append(nb::cast(view_of(std::span<const EdgeIndex>(of_layer), self)));
            return edges;
          },
          "list [layers] of int64 [nnz]: the place in graph.indices of each entry; empty unless "
          "asked for with edges=True")
      .def_prop_ro("sampled_edges", &MessageFlow::sampled_edges, "entries of all blocks")
      .def("__repr__", [](const MessageFlow& flow) {
        return fmt::format("<orrery.MessageFlow of {} seeds: {} layers, {} vertices, {} edges>",
                           flow.rows.back(), flow.layers(), flow.rows.front(),
                           flow.sampled_edges());
      });
}

Seeds seeds_of(const Array<Vertex>& training, std::int64_t batch, std::uint64_t seed) {
  if (batch < 1)
    throw ConfigError("batch_size", fmt::format("expected at least 1, found {}", batch));
  return Seeds::from_all(vector_of(training), 1, batch, seed);
}

}  // namespace

void add_sample(nb::module_& module) {
  using namespace nb::literals;
  add_message_flow(module);
  nb::class_<Sampler>(module, "Sampler")
      .def(nb::init<const Csr&, std::vector<int>, const std::string&, const Array<float>&,
                    std::int64_t>(),
           "graph"_a, "fanouts"_a, "rule"_a, "weights"_a.noconvert(), "most_seeds"_a,
           nb::keep_alive<1, 2>())
      .def("sample", &Sampler::sample, "seeds"_a.noconvert(), "seed"_a, "epoch"_a, "step"_a,
           "edges"_a = false);
  nb::class_<Seeds>(module, "Seeds")
      .def(nb::new_(&seeds_of), "training"_a.noconvert(), "batch_size"_a, "seed"_a)
      .def_prop_ro("steps", &Seeds::steps)
      .def(
          "of",
          [](const Seeds& seeds, int epoch, int step) {
            return given_away(seeds.of(0, epoch, step));
          },
          "epoch"_a, "step"_a);
}

}  // namespace orrery::python
