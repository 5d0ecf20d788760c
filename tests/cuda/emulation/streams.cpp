// Streams, events and copies of the emulated runtime.
//
// At once (as it stands): work runs when it is enqueued, on the calling thread. Lazily
// (ORRERY_EMULATE_LAZILY=1, or orrery_emulate_lazily(1)): work runs only when something waits for
// it, one waiting caller at a time, and of other streams no more than events ask for. So code that
// reads without having waited finds the old data.
#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/cuda/emulation/emulation.hpp"

namespace orrery::emulation {
namespace {

using Clock = std::chrono::steady_clock;

std::atomic<bool>& lazily() {
  static std::atomic<bool> value = [] {
    const char* asked = std::getenv("ORRERY_EMULATE_LAZILY");
    return asked != nullptr && *asked == '1';
  }();
  return value;
}

std::atomic<int> launches_to_failure{0};

}  // namespace

/// One stream's work; events keep it alive.
struct Queue {
  std::deque<std::function<void()>> waiting;
  std::atomic<std::int64_t> issued{0}, done{0};
};

namespace {

/// Held by whoever runs queued work.
std::recursive_mutex& queues_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}
/// All queues, for calls that wait for the whole device.
std::set<Queue*>& queues() {
  static std::set<Queue*> all;
  return all;
}

/// Runs what is queued up to a position.
void run_queued(Queue& queue, std::int64_t position) {
  const std::lock_guard lock(queues_mutex());
  while (queue.done < position && !queue.waiting.empty()) {
    const auto work = std::move(queue.waiting.front());
    queue.waiting.pop_front();
    work();
    ++queue.done;
  }
}

void run_until(Queue& queue, std::int64_t position) {
  while (queue.done < position) {
    run_queued(queue, position);
    if (queue.done < position) std::this_thread::yield();  // its own thread is in the midst of it
  }
}

void append(Queue& queue, std::function<void()> work) {
  if (!lazily() && queue.done == queue.issued) {
    ++queue.issued;
    work();
    ++queue.done;
    return;
  }
  const std::lock_guard lock(queues_mutex());
  queue.waiting.push_back(std::move(work));
  ++queue.issued;
}

}  // namespace

/// It does not wait for work that another thread is doing: that may wait for this rank (NCCL).
void run_all() {
  const std::lock_guard lock(queues_mutex());
  for (Queue* queue : queues()) run_queued(*queue, queue->issued);
}

cudaError_t judge_launch(dim3 grid, dim3 block) {
  if (launches_to_failure > 0 && --launches_to_failure == 0) return cudaErrorLaunchFailure;
  const bool fits = grid.x >= 1 && grid.x < (1U << 31U) && grid.y >= 1 && grid.y < 65536 &&
                    grid.z >= 1 && grid.z < 65536 && block.x >= 1 && block.y >= 1 && block.z >= 1 &&
                    block.x * block.y * block.z <= 1024;
  return fits ? cudaSuccess : cudaErrorInvalidConfiguration;
}

}  // namespace orrery::emulation

namespace em = orrery::emulation;

/// Work that is launched as one.
struct EmulatedGraph {
  std::vector<std::function<void()>> work;
};

struct EmulatedStream {
  std::shared_ptr<em::Queue> queue = std::make_shared<em::Queue>();
  std::unique_ptr<EmulatedGraph> captured;  ///< while it is captured
};

namespace {

thread_local const EmulatedStream* captured_here = nullptr;

}  // namespace

bool em::captures() { return captured_here != nullptr; }

/// The position in a stream after which it was recorded.
struct EmulatedEvent {
  std::shared_ptr<em::Queue> queue;
  std::int64_t position = 0;
  std::shared_ptr<em::Clock::time_point> at;
  bool asked = false;  ///< whether it has been reported as not ready
};

void em::enqueue(cudaStream_t stream, std::function<void()> work) {
  if (stream->captured) return stream->captured->work.push_back(std::move(work));
  append(*stream->queue, std::move(work));
}

extern "C" void orrery_emulate_lazily(int yes) { em::lazily() = yes != 0; }
extern "C" void orrery_emulate_failing_launch(int n) { em::launches_to_failure = n; }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned) {
  *out = new EmulatedStream;
  const std::lock_guard lock(em::queues_mutex());
  em::queues().insert((*out)->queue.get());
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard lock(em::queues_mutex());
  em::run_until(*stream->queue, stream->queue->issued);
  em::queues().erase(stream->queue.get());
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (stream->captured) return cudaErrorStreamCaptureUnsupported;
  em::run_until(*stream->queue, stream->queue->issued);
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (stream->captured || captured_here != nullptr) return cudaErrorStreamCaptureUnsupported;
  stream->captured = std::make_unique<EmulatedGraph>();
  captured_here = stream;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (captured_here != stream) return cudaErrorStreamCaptureUnsupported;
  *graph = stream->captured.release();
  captured_here = nullptr;
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* out, cudaGraph_t graph,
                                          unsigned long long) {
  *out = new EmulatedGraph(*graph);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  em::enqueue(stream, [work = graph->work] {
    for (const auto& each : work) each();
  });
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) { return cudaGraphDestroy(graph); }

// Events on a captured stream are an error here: Orrery never uses them.

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (stream->captured) return cudaErrorStreamCaptureUnsupported;
  if (event->queue == nullptr || event->queue == stream->queue) return cudaSuccess;
  em::enqueue(stream, [queue = event->queue, position = event->position] {
    em::run_until(*queue, position);
  });
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned) {
  *out = new EmulatedEvent;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (stream->captured) return cudaErrorStreamCaptureUnsupported;
  event->queue = stream->queue;
  event->at = std::make_shared<em::Clock::time_point>();
  event->asked = false;
  em::enqueue(stream, [at = event->at] { *at = em::Clock::now(); });
  event->position = stream->queue->issued;
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (event->queue == nullptr || event->queue->done >= event->position) return cudaSuccess;
  // A poll also waits: work that is not done at the first poll is done at the next.
  if (!event->asked) {
    event->asked = true;
    return cudaErrorNotReady;
  }
  return cudaEventSynchronize(event);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (event->queue != nullptr) em::run_until(*event->queue, event->position);
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  if (from->queue == nullptr || to->queue == nullptr) return cudaErrorInvalidValue;
  if (from->queue->done < from->position || to->queue->done < to->position)
    return cudaErrorNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(*to->at - *from->at).count();
  return cudaSuccess;
}

namespace {

/// Host memory that is not pinned must have been read or written when the call returns.
cudaError_t wait_if_pageable(cudaStream_t stream, const void* a, const void* b) {
  return em::known(a) && em::known(b) ? cudaSuccess : cudaStreamSynchronize(stream);
}

}  // namespace

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind, cudaStream_t stream) {
  if (width > to_pitch || width > from_pitch) return cudaErrorInvalidValue;
  em::enqueue(stream, [=] {
    for (std::size_t i = 0; i < height; ++i)
      std::memmove(static_cast<char*>(to) + i * to_pitch,
                   static_cast<const char*>(from) + i * from_pitch, width);
  });
  return wait_if_pageable(stream, to, from);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream);
}

cudaError_t cudaMemsetAsync(void* p, int byte, std::size_t bytes, cudaStream_t stream) {
  em::enqueue(stream, [=] { std::memset(p, byte, bytes); });
  return cudaSuccess;
}

cudaError_t cudaMemset(void* p, int byte, std::size_t bytes) {
  em::run_all();
  std::memset(p, byte, bytes);
  return cudaSuccess;
}
