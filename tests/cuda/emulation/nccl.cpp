// NCCL among threads of one process: what it computes, nothing of how. An operation runs on the
// thread that enqueues it and returns when the ranks that it needs have come, so work must not be
// queued lazily.
#include <nccl.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace {

using Bytes = std::vector<char>;

std::size_t size_of(ncclDataType_t type) {
  return type == ncclUint8 ? 1 : type == ncclFloat32 ? sizeof(float) : sizeof(double);
}

Bytes copy_of(const void* from, std::size_t bytes) {
  const auto* first = static_cast<const char*>(from);
  return {first, first + bytes};
}

template <class T>
void add(const Bytes& x, Bytes& total) {
  for (std::size_t i = 0; i + sizeof(T) <= total.size(); i += sizeof(T)) {
    T a{}, b{};
    std::memcpy(&a, x.data() + i, sizeof a);
    std::memcpy(&b, total.data() + i, sizeof b);
    b += a;
    std::memcpy(total.data() + i, &b, sizeof b);
  }
}

/// The ranks of one communicator.
struct World {
  explicit World(int ranks) : brought(static_cast<std::size_t>(ranks)), size(ranks) {}

  /// Everybody's bytes by rank, once everybody has come; nothing after an abort.
  std::vector<Bytes> all(int rank, Bytes mine) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return aborted || leaving == 0; });
    brought[static_cast<std::size_t>(rank)] = std::move(mine);
    if (++come == size) {
      leaving = size;
      changed.notify_all();
    }
    changed.wait(lock, [&] { return aborted || leaving > 0; });
    if (aborted) return {};
    std::vector<Bytes> all = brought;
    if (--leaving == 0) {
      come = 0;
      changed.notify_all();
    }
    return all;
  }

  void send(int from, int to, Bytes bytes) {
    const std::lock_guard lock(mutex);
    mail[{from, to}].push_back(std::move(bytes));
    changed.notify_all();
  }
  Bytes receive(int from, int to) {
    std::unique_lock lock(mutex);
    auto& box = mail[{from, to}];
    changed.wait(lock, [&] { return aborted || !box.empty(); });
    if (aborted) return {};
    Bytes bytes = std::move(box.front());
    box.pop_front();
    return bytes;
  }
  void abort() {
    const std::lock_guard lock(mutex);
    aborted = true;
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Bytes> brought;
  int size, come = 0, leaving = 0;
  bool aborted = false;
  std::map<std::pair<int, int>, std::deque<Bytes>> mail;
};

std::shared_ptr<World> world_of(const ncclUniqueId& id, int size) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<World>> worlds;
  const std::lock_guard lock(mutex);
  auto& slot = worlds[std::string(id.internal, sizeof id.internal)];
  std::shared_ptr<World> world = slot.lock();
  if (!world) slot = world = std::make_shared<World>(size);
  return world;
}

/// Calls between group start and end: what is sent goes first, what comes in is waited for last.
struct Group {
  int depth = 0;
  cudaStream_t stream = nullptr;
  std::vector<std::function<void()>> sends, collectives, receives;
};
thread_local Group group;

}  // namespace

struct EmulatedNccl {
  std::shared_ptr<World> world;
  int rank = 0;
};

namespace {

ncclResult_t run(cudaStream_t stream, std::vector<std::function<void()>> Group::*kind,
                 std::function<void()> work) {
  ncclGroupStart();
  group.stream = stream;
  (group.*kind).push_back(std::move(work));
  return ncclGroupEnd();
}

/// A collective: `finish` gets everybody's bytes.
ncclResult_t collect(ncclComm_t comm, cudaStream_t stream, const void* from, std::size_t bytes,
                     std::function<void(const std::vector<Bytes>&)> finish) {
  return run(stream, &Group::collectives, [=, finish = std::move(finish)] {
    const auto all = comm->world->all(comm->rank, copy_of(from, bytes));
    if (!all.empty()) finish(all);
  });
}

Bytes sum_of(const std::vector<Bytes>& all, ncclDataType_t type) {
  Bytes total = all.front();
  for (std::size_t r = 1; r < all.size(); ++r)
    type == ncclFloat32 ? add<float>(all[r], total) : add<double>(all[r], total);
  return total;
}

void put(void* to, const char* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess ? "no error" : "an error of the emulation";
}
ncclResult_t ncclGetVersion(int* version) {
  *version = 1;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static std::mutex mutex;
  static int made = 0;
  const std::lock_guard lock(mutex);
  std::memset(id->internal, 0, sizeof id->internal);
  std::memcpy(id->internal, &++made, sizeof made);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  if (rank < 0 || rank >= size) return ncclInvalidUsage;
  *comm = new EmulatedNccl{world_of(id, size), rank};
  (*comm)->world->all(rank, {});
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  // Ranks that are still inside look at it, so it lives until the process ends.
  static std::mutex mutex;
  static std::vector<std::unique_ptr<EmulatedNccl>> aborted;
  comm->world->abort();
  const std::lock_guard lock(mutex);
  aborted.emplace_back(comm);
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* state) {
  *state = ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (--group.depth > 0) return ncclSuccess;
  const Group calls = std::exchange(group, {});
  if (calls.stream == nullptr) return ncclSuccess;
  orrery::emulation::enqueue(calls.stream, [calls] {
    for (const auto* kind : {&calls.sends, &calls.collectives, &calls.receives})
      for (const auto& work : *kind) work();
  });
  return ncclSuccess;
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  const std::size_t bytes = comm->rank == root ? count * size_of(type) : 0;
  return collect(comm, stream, from, bytes, [=](const std::vector<Bytes>& all) {
    put(to, all[static_cast<std::size_t>(root)].data(), count * size_of(type));
  });
}
ncclResult_t ncclReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t, int root, ncclComm_t comm, cudaStream_t stream) {
  return collect(comm, stream, from, count * size_of(type), [=](const std::vector<Bytes>& all) {
    if (comm->rank == root) put(to, sum_of(all, type).data(), count * size_of(type));
  });
}
ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t, ncclComm_t comm, cudaStream_t stream) {
  return collect(comm, stream, from, count * size_of(type), [=](const std::vector<Bytes>& all) {
    put(to, sum_of(all, type).data(), count * size_of(type));
  });
}
ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count_each,
                               ncclDataType_t type, ncclRedOp_t, ncclComm_t comm,
                               cudaStream_t stream) {
  const std::size_t each = count_each * size_of(type);
  return collect(comm, stream, from, each * static_cast<std::size_t>(comm->world->size),
                 [=](const std::vector<Bytes>& all) {
                   put(to, sum_of(all, type).data() + each * static_cast<std::size_t>(comm->rank),
                       each);
                 });
}
ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count_each, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  const std::size_t each = count_each * size_of(type);
  return collect(comm, stream, from, each, [=](const std::vector<Bytes>& all) {
    for (std::size_t r = 0; r < all.size(); ++r)
      put(static_cast<char*>(to) + r * each, all[r].data(), each);
  });
}
ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int to,
                      ncclComm_t comm, cudaStream_t stream) {
  return run(stream, &Group::sends,
             [=] { comm->world->send(comm->rank, to, copy_of(from, count * size_of(type))); });
}
ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int from, ncclComm_t comm,
                      cudaStream_t stream) {
  return run(stream, &Group::receives, [=] {
    const Bytes bytes = comm->world->receive(from, comm->rank);
    put(to, bytes.data(), std::min(bytes.size(), count * size_of(type)));
  });
}
