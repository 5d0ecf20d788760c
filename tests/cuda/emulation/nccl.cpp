// NCCL of the emulation: ranks are threads that meet in memory. What a stream holds runs first,
// then the calling thread takes part, so a collective never waits lazily. It proves which calls
// match and what they move, and says nothing of NCCL's transport.
#include <nccl.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace {

/// What one rank brings to a collective.
struct Part {
  const void* x = nullptr;
  void* y = nullptr;
  bool operator==(const Part&) const = default;
};
/// All ranks' parts of a collective; `carry_out` reads and writes the memory of all of them.
using Collective = std::function<void(const std::vector<Part>&)>;

struct Message {
  const void* from;
  std::size_t bytes;
  bool taken = false;
};

/// The ranks that share an id.
struct Clique {
  explicit Clique(int ranks) : size(ranks), parts(static_cast<std::size_t>(ranks)) {}

  /// Waits for all ranks; the last to come carries the collective out.
  ncclResult_t meet(int rank, Part part, const Collective& carry_out) {
    std::unique_lock lock(mutex);
    parts[static_cast<std::size_t>(rank)] = part;
    const std::uint64_t now = meetings;
    if (++arrived == size) {
      carry_out(parts);
      arrived = 0;
      ++meetings;
      changed.notify_all();
    }
    changed.wait(lock, [&] { return meetings != now || aborted; });
    return meetings != now ? ncclSuccess : ncclSystemError;
  }

  const int size;
  std::mutex mutex;
  std::condition_variable changed;
  bool aborted = false;
  int arrived = 0;
  std::uint64_t meetings = 0;
  std::vector<Part> parts;
  std::set<int> devices;
  std::map<std::pair<int, int>, std::vector<std::shared_ptr<Message>>> mail;  // by (from, to)
};

std::mutex cliques_mutex;
std::map<std::string, std::shared_ptr<Clique>>& cliques() {
  static std::map<std::string, std::shared_ptr<Clique>> all;
  return all;
}

std::size_t bytes_of(ncclDataType_t type) {
  return type == ncclUint8 ? 1 : type == ncclFloat32 ? 4 : 8;
}

/// to ← Σ over ranks of their x from element `first` on, in the order of ranks.
template <class T>
void sum(const std::vector<Part>& parts, std::size_t first, std::size_t n, T* to) {
  std::vector<T> sums(n);
  for (std::size_t i = 0; i < n; ++i)
    for (const Part& part : parts) sums[i] += static_cast<const T*>(part.x)[first + i];
  std::copy(sums.begin(), sums.end(), to);
}
void sum(ncclDataType_t type, const std::vector<Part>& parts, std::size_t first, std::size_t n,
         void* to) {
  if (type == ncclFloat32)
    sum(parts, first, n, static_cast<float*>(to));
  else
    sum(parts, first, n, static_cast<double*>(to));
}

}  // namespace

struct EmulatedComm {
  std::shared_ptr<Clique> clique;
  int rank;
};

namespace {

ncclResult_t take_part(ncclComm_t comm, cudaStream_t stream, const void* x, void* y,
                       const Collective& carry_out) {
  cudaStreamSynchronize(stream);
  return comm->clique->meet(comm->rank, {x, y}, carry_out);
}

struct Transfer {
  ncclComm_t comm;
  cudaStream_t stream;
  bool sends;
  int peer;
  void* data;
  std::size_t bytes;
};
thread_local int group_depth = 0;
thread_local std::vector<Transfer> group;

/// Posts what is sent, takes what is received, and waits until all was taken.
ncclResult_t carry_out_group() {
  std::vector<std::shared_ptr<Message>> sent;
  std::vector<Clique*> of_sent;
  for (const Transfer& t : group) {
    cudaStreamSynchronize(t.stream);
    if (!t.sends) continue;
    Clique& clique = *t.comm->clique;
    const std::lock_guard lock(clique.mutex);
    sent.push_back(std::make_shared<Message>(Message{t.data, t.bytes}));
    of_sent.push_back(&clique);
    clique.mail[{t.comm->rank, t.peer}].push_back(sent.back());
    clique.changed.notify_all();
  }
  for (const Transfer& t : group) {
    if (t.sends) continue;
    Clique& clique = *t.comm->clique;
    std::unique_lock lock(clique.mutex);
    auto& box = clique.mail[{t.peer, t.comm->rank}];
    clique.changed.wait(lock, [&] { return !box.empty() || clique.aborted; });
    if (box.empty()) return ncclSystemError;
    if (box.front()->bytes != t.bytes) return ncclInvalidUsage;
    std::memcpy(t.data, box.front()->from, t.bytes);
    box.front()->taken = true;
    box.erase(box.begin());
    clique.changed.notify_all();
  }
  for (std::size_t i = 0; i < sent.size(); ++i) {
    std::unique_lock lock(of_sent[i]->mutex);
    of_sent[i]->changed.wait(lock, [&] { return sent[i]->taken || of_sent[i]->aborted; });
    if (!sent[i]->taken) return ncclSystemError;
  }
  return ncclSuccess;
}

ncclResult_t transfer(const Transfer& t) {
  group.push_back(t);
  if (group_depth > 0) return ncclSuccess;
  const ncclResult_t result = carry_out_group();
  group.clear();
  return result;
}

}  // namespace

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclInvalidUsage  ? "invalid usage"
         : result == ncclSystemError ? "unhandled system error"
                                     : "no error";
}

ncclResult_t ncclGetVersion(int* version) {
  *version = 1;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static std::atomic<int> made{0};
  *id = {};
  std::snprintf(id->internal, sizeof id->internal, "emulated %d", ++made);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* out, int size, ncclUniqueId id, int rank) {
  std::shared_ptr<Clique> clique;
  {
    const std::lock_guard lock(cliques_mutex);
    auto& of_id = cliques()[id.internal];
    if (of_id == nullptr) of_id = std::make_shared<Clique>(size);
    clique = of_id;
  }
  int device = 0;
  cudaGetDevice(&device);
  bool distinct = true;
  const Part mine{&device, nullptr};
  clique->meet(rank, mine, [&](const std::vector<Part>& parts) {
    for (const Part& part : parts) clique->devices.insert(*static_cast<const int*>(part.x));
  });
  distinct = static_cast<int>(clique->devices.size()) == size;
  if (!distinct) return ncclInvalidUsage;  // NCCL wants a device for each rank
  *out = new EmulatedComm{clique, rank};
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  {
    const std::lock_guard lock(comm->clique->mutex);
    comm->clique->aborted = true;
  }
  comm->clique->changed.notify_all();
  return ncclCommDestroy(comm);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  const std::lock_guard lock(comm->clique->mutex);
  *state = comm->clique->aborted ? ncclSystemError : ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++group_depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (--group_depth > 0) return ncclSuccess;
  const ncclResult_t result = carry_out_group();
  group.clear();
  return result;
}

ncclResult_t ncclBroadcast(const void* x, void* y, std::size_t n, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return take_part(comm, stream, x, y, [=](const std::vector<Part>& parts) {
    for (const Part& part : parts)
      std::memmove(part.y, parts[static_cast<std::size_t>(root)].x, n * bytes_of(type));
  });
}

ncclResult_t ncclReduce(const void* x, void* y, std::size_t n, ncclDataType_t type, ncclRedOp_t,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  return take_part(comm, stream, x, y, [=](const std::vector<Part>& parts) {
    sum(type, parts, 0, n, parts[static_cast<std::size_t>(root)].y);
  });
}

ncclResult_t ncclAllReduce(const void* x, void* y, std::size_t n, ncclDataType_t type, ncclRedOp_t,
                           ncclComm_t comm, cudaStream_t stream) {
  return take_part(comm, stream, x, y, [=](const std::vector<Part>& parts) {
    std::vector<char> sums(n * bytes_of(type));
    sum(type, parts, 0, n, sums.data());
    for (const Part& part : parts) std::memcpy(part.y, sums.data(), sums.size());
  });
}

ncclResult_t ncclReduceScatter(const void* x, void* y, std::size_t n, ncclDataType_t type,
                               ncclRedOp_t, ncclComm_t comm, cudaStream_t stream) {
  return take_part(comm, stream, x, y, [=](const std::vector<Part>& parts) {
    for (std::size_t r = 0; r < parts.size(); ++r) sum(type, parts, r * n, n, parts[r].y);
  });
}

ncclResult_t ncclAllGather(const void* x, void* y, std::size_t n, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return take_part(comm, stream, x, y, [=](const std::vector<Part>& parts) {
    const std::size_t bytes = n * bytes_of(type);
    for (const Part& to : parts)
      for (std::size_t r = 0; r < parts.size(); ++r)
        std::memmove(static_cast<char*>(to.y) + r * bytes, parts[r].x, bytes);
  });
}

ncclResult_t ncclSend(const void* x, std::size_t n, ncclDataType_t type, int to, ncclComm_t comm,
                      cudaStream_t stream) {
  return transfer({comm, stream, true, to, const_cast<void*>(x), n * bytes_of(type)});
}

ncclResult_t ncclRecv(void* y, std::size_t n, ncclDataType_t type, int from, ncclComm_t comm,
                      cudaStream_t stream) {
  return transfer({comm, stream, false, from, y, n * bytes_of(type)});
}
