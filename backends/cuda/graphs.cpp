#include "backends/cuda/graphs.hpp"

#include <algorithm>

#include "core/base/error.hpp"

namespace orrery::cuda {
namespace {

/// Shorter runs are not worth a graph, whose launch costs about as much as those of two kernels.
constexpr std::size_t kShortest = 3;
/// Number of remembered runs: those of an epoch of a thousand layers. At this number, runs that did
/// not repeat among the last launches (twice as many) are forgotten.
constexpr std::size_t kRemembered = 4096;

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

std::size_t hash_of(const std::vector<LibraryCall>& run) {
  std::size_t hash = run.size();
  for (const LibraryCall& call : run) hash = hash * 31 + call.hash();
  return hash;
}

}  // namespace

bool Graphs::launch(const std::vector<LibraryCall>& run) {
  if (run.size() < kShortest) return false;
  ++launches_;
  const std::size_t hash = hash_of(run);
  Known* known = find(run, hash);
  if (known == nullptr) {
    remember(run, hash);
    return false;
  }
  known->last_used = launches_;
  if (known->graph == nullptr) capture(*known);
  std::vector<std::uint32_t> words;
  for (const OrreryVarying* number : varying_of(run)) words.push_back(number->value);
  require(api().graph_launch(known->graph.get(), words.data()), "graph_launch");
  return true;
}

Graphs::Known* Graphs::find(const std::vector<LibraryCall>& run, std::size_t hash) {
  const auto [first, last] = known_.equal_range(hash);
  const auto found = std::find_if(
      first, last, [&](const auto& entry) { return same_runs(entry.second.run, run); });
  return found == last ? nullptr : &found->second;
}

void Graphs::remember(const std::vector<LibraryCall>& run, std::size_t hash) {
  const auto oldest = launches_ - 2 * static_cast<std::int64_t>(kRemembered);
  if (known_.size() >= kRemembered)
    std::erase_if(known_, [&](const auto& entry) { return entry.second.last_used < oldest; });
  if (known_.size() < kRemembered) known_.emplace(hash, Known{run, {nullptr, nullptr}, launches_});
}

void Graphs::capture(Known& known) {
  const auto varying = varying_of(known.run);
  OrreryGraph* begun = nullptr;
  const std::uint32_t* words = nullptr;
  require(api().graph_begin(stream_, static_cast<std::int32_t>(varying.size()), &begun, &words),
          "graph_begin");
  Handle<OrreryGraph> graph(begun, api().graph_close);
  for (std::size_t i = 0; i < varying.size(); ++i) varying[i]->at = words + i;
  try {
    for (const LibraryCall& call : known.run) call.issue(stream_);
    require(api().graph_end(begun), "graph_end");
  } catch (Error& error) {
    error.add_context("while a CUDA graph was captured; set train.cuda_graph to false");
    throw;
  }
  known.graph = std::move(graph);
}

}  // namespace orrery::cuda
