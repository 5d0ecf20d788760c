#include "backends/cuda/nccl_communicator.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery::cuda {
namespace {

constexpr std::size_t kIdBytes = 128;
/// Those that have a communicator of all ranks from the beginning.
constexpr Lane kLanesThatCommunicate[] = {Lane::comm, Lane::comm2};

std::string new_id() {
  std::string id(kIdBytes, '\0');
  require(api().nccl_unique_id(id.data()), "nccl_unique_id");
  return id;
}

bool all_equal(const std::vector<std::int64_t>& list) {
  return std::adjacent_find(list.begin(), list.end(), std::not_equal_to<>()) == list.end();
}

/// Calls between its construction and end() are one operation of NCCL.
class NcclGroup {
 public:
  NcclGroup() { require(api().nccl_group_start(), "nccl_group_start"); }
  void end() {
    open_ = false;
    require(api().nccl_group_end(), "nccl_group_end");
  }
  ~NcclGroup() {
    if (open_) api().nccl_group_end();  // on the way out of an error, which is told instead
  }
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

 private:
  bool open_ = true;
};

}  // namespace

/// One collective in the communicator of its group, where ranks are group indices.
class NcclCommunicator::Move {
 public:
  Move(OrreryNccl* nccl, int me, StreamMover& mover, const RankMemory& memory)
      : nccl_(nccl), me_(me), mover_(mover), stream_(mover.stream()), memory_(memory) {}

  void operator()(const SendRecv& o) {
    if (o.send && o.recv && o.to == me_) return copy(bytes_at(*o.recv), *o.send);
    NcclGroup group;
    if (o.send) send(bytes_at(*o.send), o.send->bytes(), o.to);
    if (o.recv) receive(bytes_at(*o.recv), o.recv->bytes(), o.from);
    group.end();
  }
  void operator()(const Broadcast& o) { broadcast(bytes_at(o.x), o.x.bytes(), o.root); }
  void operator()(const Reduce& o) {
    require(api().nccl_reduce(nccl_, stream_, dtype_of(o.x.dtype), bytes_at(o.x), o.x.shape.size(),
                              o.root),
            "nccl_reduce");
  }
  void operator()(const AllReduce& o) {
    require(
        api().nccl_all_reduce(nccl_, stream_, dtype_of(o.x.dtype), bytes_at(o.x), o.x.shape.size()),
        "nccl_all_reduce");
  }

  void operator()(const ReduceScatter& o) {
    if (all_equal(*o.rows)) {
      require(api().nccl_reduce_scatter(nccl_, stream_, dtype_of(o.x.dtype), bytes_at(o.x),
                                        bytes_at(o.y), o.y.shape.size()),
              "nccl_reduce_scatter");
      return;
    }
    // A sum of slice i to rank i. It is made where the operand lies, whose own slice is kept aside
    // meanwhile: the operand is only read.
    const auto slices = slices_of(o.x, *o.rows);
    const Slice& own = slices[at(me_)];
    mover_.copy(bytes_at(o.y), own.at, own.bytes);
    NcclGroup group;
    for (std::size_t i = 0; i < slices.size(); ++i)
      if (slices[i].bytes > 0)
        require(api().nccl_reduce(nccl_, stream_, dtype_of(o.x.dtype), slices[i].at,
                                  slices[i].bytes / bytes_of(o.x.dtype), static_cast<int>(i)),
                "nccl_reduce");
    group.end();
    mover_.swap(own.at, bytes_at(o.y), own.bytes);
  }

  void operator()(const AllGather& o) {
    if (all_equal(*o.rows)) {
      require(api().nccl_all_gather(nccl_, stream_, bytes_at(o.x), bytes_at(o.y), o.x.bytes()),
              "nccl_all_gather");
      return;
    }
    const auto slices = slices_of(o.y, *o.rows);
    copy(slices[at(me_)].at, o.x);
    NcclGroup group;
    for (std::size_t i = 0; i < slices.size(); ++i)
      broadcast(slices[i].at, slices[i].bytes, static_cast<int>(i));
    group.end();
  }

  void operator()(const AllToAllV& o) {
    const auto from = slices_of(o.x, *o.send_rows), to = slices_of(o.y, *o.recv_rows);
    const auto me = static_cast<std::size_t>(me_);
    mover_.copy(to[me].at, from[me].at, to[me].bytes);
    NcclGroup group;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (i == me) continue;
      send(from[i].at, from[i].bytes, static_cast<int>(i));
      receive(to[i].at, to[i].bytes, static_cast<int>(i));
    }
    group.end();
  }

  void operator()(const BroadcastSparse&) {
    throw ConfigError("strategy.type", "sparse tiles do not travel by nccl: use backend mpi");
  }
  template <class T>
  void operator()(const T&) {
    ORRERY_ASSERT(!"a local op");
  }

 private:
  struct Slice {
    char* at;
    std::int64_t bytes;
  };
  char* bytes_at(const Tensor& t) const { return static_cast<char*>(memory_.bytes_at(t)); }
  std::vector<Slice> slices_of(const Tensor& t, const std::vector<std::int64_t>& rows) const {
    std::vector<Slice> slices;
    char* next = bytes_at(t);
    for (const std::int64_t count : rows) {
      slices.push_back({next, count * t.cols() * bytes_of(t.dtype)});
      next += slices.back().bytes;
    }
    return slices;
  }
  void copy(void* to, const Tensor& from) { mover_.copy(to, bytes_at(from), from.bytes()); }
  void broadcast(void* x, std::int64_t bytes, int root) {
    if (bytes > 0) require(api().nccl_broadcast(nccl_, stream_, x, bytes, root), "nccl_broadcast");
  }
  void send(const void* x, std::int64_t bytes, int to) {
    if (bytes > 0) require(api().nccl_send(nccl_, stream_, x, bytes, to), "nccl_send");
  }
  void receive(void* y, std::int64_t bytes, int from) {
    if (bytes > 0) require(api().nccl_recv(nccl_, stream_, y, bytes, from), "nccl_recv");
  }

  OrreryNccl* nccl_;
  int me_;
  StreamMover& mover_;
  OrreryStream* stream_;
  const RankMemory& memory_;
};

NcclCommunicator::NcclCommunicator(CudaDevice& device, Options options)
    : Communicator(options.size),
      device_(device),
      options_(std::move(options)),
      watch_(device, options_.rank, options_.wait_seconds, options_.failed) {
  if (api().nccl_open == nullptr)
    throw NotBuilt(
        "backend nccl: the CUDA library was built without NCCL; install it and build the library "
        "again (docs/gpu.md), or use backend mpi");
  const Group all = world_group(options_.size);
  for (const Lane lane : kLanesThatCommunicate) {
    std::string id = options_.rank == 0 ? new_id() : std::string();
    options_.share(id);
    keep({lane, all.id, all.first, all.size, all.stride}, options_.size, options_.rank, id);
  }
}

void NcclCommunicator::abort(std::string_view) noexcept { watch_.abort(); }

void NcclCommunicator::move(const Call& call, const RankMemory& memory) {
  if (watch_.aborted()) throw Aborted("another rank failed");
  if (store_of(call.op))
    throw ConfigError("", fmt::format("{}: hosts serve the rows of stores, nccl does not: use "
                                      "backend mpi",
                                      kind_of(call.op)));
  auto& mover = static_cast<StreamMover&>(call.mover);
  const Group group = *group_of(call.op);
  OrreryNccl* nccl = communicator_of(call.lane, group, mover);
  Move move(nccl, group.index_of(options_.rank), mover, memory);
  watch_.begins(mover.stream(), fmt::format("{}, {} on {}", kind_of(call.op), to_string(call.phase),
                                            name_of(call.lane)));
  std::visit(move, call.op);
  watch_.issued(mover.stream());
  received_bytes(call.op, options_.rank, [&](int peer, double bytes) {
    count_received(peer, static_cast<std::int64_t>(bytes));
  });
}

/// A group's communicator is made when the group meets first, which all of its ranks do.
OrreryNccl* NcclCommunicator::communicator_of(Lane lane, const Group& group, StreamMover& mover) {
  const auto find = [&](const Group& g) -> OrreryNccl* {
    const std::lock_guard lock(mutex_);
    const auto found = communicators_.find({lane, g.id, g.first, g.size, g.stride});
    return found == communicators_.end() ? nullptr : found->second.get();
  };
  if (OrreryNccl* found = find(group)) return found;
  OrreryNccl* world = find(world_group(options_.size));
  ORRERY_ASSERT(world != nullptr && "a lane that communicates");
  const std::string id = id_from_first(world, group, mover);
  return keep({lane, group.id, group.first, group.size, group.stride}, group.size,
              group.index_of(options_.rank), id);
}

OrreryNccl* NcclCommunicator::keep(const Key& key, int size, int rank, const std::string& id) {
  OrreryNccl* opened = nullptr;
  require(api().nccl_open(device_.handle(), size, rank, id.data(), &opened), "nccl_open");
  watch_.add(opened);
  const std::lock_guard lock(mutex_);
  communicators_.emplace(key, Handle<OrreryNccl>(opened, api().nccl_close));
  return opened;
}

/// The id of a new communicator, from the first rank of the group to the others, by NCCL itself:
/// no other rank takes part.
std::string NcclCommunicator::id_from_first(OrreryNccl* world, const Group& group,
                                            StreamMover& mover) {
  const bool first = group.index_of(options_.rank) == 0;
  std::string id = first ? new_id() : std::string(kIdBytes, '\0');
  auto* at = device_.take(Space::device, kIdBytes);
  OrreryStream* stream = mover.stream();
  if (first) require(api().copy_in(stream, at, id.data(), kIdBytes), "copy_in");
  NcclGroup messages;
  if (first)
    for (int i = 1; i < group.size; ++i)
      require(api().nccl_send(world, stream, at, kIdBytes, group.rank_of(i)), "nccl_send");
  else
    require(api().nccl_recv(world, stream, at, kIdBytes, group.rank_of(0)), "nccl_recv");
  messages.end();
  if (!first) require(api().copy_out(stream, id.data(), at, kIdBytes), "copy_out");
  mover.settle();
  device_.give(Space::device, at);
  return id;
}

}  // namespace orrery::cuda
