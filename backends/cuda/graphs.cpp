#include "backends/cuda/graphs.hpp"

#include <algorithm>

namespace orrery::cuda {
namespace {

/// Shorter runs are not worth a graph, whose launch costs about as much as those of two kernels.
constexpr std::size_t kShortest = 3;
/// So many runs are remembered: more than an epoch and an evaluation have in any strategy, few
/// enough to be compared in no time.
constexpr std::size_t kRemembered = 64;

bool same_runs(const std::vector<LibraryCall>& a, const std::vector<LibraryCall>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const LibraryCall& x, const LibraryCall& y) { return x.same_as(y); });
}

std::vector<OrreryVarying*> varying_of(const std::vector<LibraryCall>& run) {
  std::vector<OrreryVarying*> all;
  for (const LibraryCall& call : run)
    for (OrreryVarying* number : call.varying()) all.push_back(number);
  return all;
}

}  // namespace

bool Graphs::launch(const std::vector<LibraryCall>& run) {
  if (run.size() < kShortest) return false;
  Known* known = find(run);
  if (known == nullptr) {
    known_.push_front({run});
    if (known_.size() > kRemembered) known_.pop_back();
    return false;
  }
  if (known->graph == nullptr) capture(*known);
  std::vector<std::uint32_t> words;
  for (const OrreryVarying* number : varying_of(run)) words.push_back(number->value);
  require(api().graph_launch(known->graph.get(), words.data()), "graph_launch");
  return true;
}

Graphs::Known* Graphs::find(const std::vector<LibraryCall>& run) {
  const auto found = std::find_if(known_.begin(), known_.end(),
                                  [&](const Known& known) { return same_runs(known.run, run); });
  if (found == known_.end()) return nullptr;
  known_.splice(known_.begin(), known_, found);
  return &known_.front();
}

void Graphs::capture(Known& known) {
  const auto varying = varying_of(known.run);
  OrreryGraph* begun = nullptr;
  const std::uint32_t* words = nullptr;
  require(api().graph_begin(stream_, static_cast<std::int32_t>(varying.size()), &begun, &words),
          "graph_begin");
  Handle<OrreryGraph> graph(begun, api().graph_close);
  for (std::size_t i = 0; i < varying.size(); ++i) varying[i]->at = words + i;
  for (const LibraryCall& call : known.run) call.issue(stream_);
  require(api().graph_end(begun), "graph_end");
  known.graph = std::move(graph);
}

}  // namespace orrery::cuda
