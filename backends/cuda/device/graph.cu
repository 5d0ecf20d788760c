#include "backends/cuda/device/graph.cuh"

#include <algorithm>

#include "backends/cuda/device/launch.cuh"

using orrery::cuda::check;

namespace {

/// What one launch can carry: parameters of a kernel are at most 4 KB.
constexpr std::int32_t kWordsOfALaunch = 512;
struct Words {
  std::uint32_t at[kWordsOfALaunch];
};

__global__ void set_words(Words values, std::uint32_t* to, std::int32_t count) {
  for (auto i = static_cast<std::int32_t>(threadIdx.x); i < count;
       i += static_cast<std::int32_t>(blockDim.x))
    to[i] = values.at[i];
}

}  // namespace

OrreryGraph::OrreryGraph(OrreryStream& s, std::int32_t words)
    : device(s.device), stream_(s), count_(words), words_(s.device, std::int64_t{4} * words) {
  // Only for this thread: the other ranks of the process go on meanwhile.
  check(cudaStreamBeginCapture(s.stream, cudaStreamCaptureModeThreadLocal),
        "cudaStreamBeginCapture");
  captures_ = true;
}

OrreryGraph::~OrreryGraph() {
  if (captures_) {
    cudaGraph_t graph = nullptr;
    cudaStreamEndCapture(stream_.stream, &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();
  }
  if (launchable_ == nullptr) return;
  cudaStreamSynchronize(stream_.stream);
  cudaGraphExecDestroy(launchable_);
}

void OrreryGraph::end() {
  captures_ = false;
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream_.stream, &graph), "cudaStreamEndCapture");
  const cudaError_t error = cudaGraphInstantiateWithFlags(&launchable_, graph, 0);
  cudaGraphDestroy(graph);
  check(error, "cudaGraphInstantiate");
  scratch_ = stream_.held_scratch();
}

void OrreryGraph::launch(const std::uint32_t* values) {
  orrery::cuda::require(launchable_ != nullptr, "a graph is launched before its end");
  for (std::int32_t first = 0; first < count_; first += kWordsOfALaunch) {
    const std::int32_t count = std::min(kWordsOfALaunch, count_ - first);
    Words some{};
    std::copy_n(values + first, count, some.at);
    orrery::cuda::launch(stream_, set_words, dim3{1, 1, 1}, dim3{128, 1, 1}, some,
                         words_.as<std::uint32_t>() + first, count);
  }
  check(cudaGraphLaunch(launchable_, stream_.stream), "cudaGraphLaunch");
}
