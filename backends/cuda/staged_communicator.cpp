#include "backends/cuda/staged_communicator.hpp"

#include <optional>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery::cuda {

/// One call: the same op on pinned memory, and what must come back from there.
class StagedCommunicator::Stage {
 public:
  Stage(int rank, Room& room, StreamMover& mover, const RankMemory& memory)
      : rank_(rank), room_(room), mover_(mover), memory_(memory) {}

  Op operator()(SendRecv o) {
    if (o.send) o.send = read(*o.send);
    if (o.recv) o.recv = written(*o.recv);
    return o;
  }
  Op operator()(Broadcast o) {
    o.x = at_root(o) ? read(o.x) : written(o.x);
    return o;
  }
  /// The pattern is on the host in any case; the executor brings it to the device.
  Op operator()(BroadcastSparse o) {
    room_.memory.share_sparse(o.a.id, memory_);
    pattern_ = o.a.id;
    o.values = at_root(o) ? read(o.values) : written(o.values);
    return o;
  }
  Op operator()(Reduce o) {
    o.x = at_root(o) ? updated(o.x) : read(o.x);
    return o;
  }
  Op operator()(AllReduce o) {
    o.x = updated(o.x);
    return o;
  }
  template <class T>
  requires Collective<T> && requires(T o) { o.y; }
  Op operator()(T o) {
    o.x = read(o.x);
    o.y = written(o.y);
    return o;
  }
  template <class T>
  Op operator()(T) {
    ORRERY_ASSERT(!"a local op");
    return {};
  }

  /// Brings arrived data to the device.
  void bring_back() {
    if (pattern_) room_.memory.remove_sparse(*pattern_);
    for (const auto& [from, to] : back_)
      if (to.bytes() > 0)
        require(api().copy_in(mover_.stream(), memory_.bytes_at(to), room_.memory.bytes_at(from),
                              to.bytes()),
                "copy_in");
  }

 private:
  template <class T>
  bool at_root(const T& o) const {
    return o.group.rank_of(o.root) == rank_;
  }

  Tensor place(const Tensor& t) {
    Tensor staged = t;
    staged.id = next_++;
    staged.space = Space::pinned_host;
    staged.offset = 0;
    staged.ld = t.cols();
    if (room_.bytes.size() <= staged.id) room_.bytes.resize(staged.id + 1, -1);
    std::int64_t& has = room_.bytes[staged.id];
    if (has >= t.bytes()) return staged;
    mover_.settle();  // the block that is freed may still be copied
    if (has >= 0) room_.memory.free(staged.id);
    has = -1;
    room_.memory.allocate(staged.id, t.bytes(), Space::pinned_host);
    has = t.bytes();
    return staged;
  }
  Tensor read(const Tensor& t) {
    const Tensor staged = place(t);
    if (t.bytes() > 0)
      require(api().copy_out(mover_.stream(), room_.memory.bytes_at(staged), memory_.bytes_at(t),
                             t.bytes()),
              "copy_out");
    return staged;
  }
  Tensor written(const Tensor& t) {
    const Tensor staged = place(t);
    back_.emplace_back(staged, t);
    return staged;
  }
  Tensor updated(const Tensor& t) {
    const Tensor staged = read(t);
    back_.emplace_back(staged, t);
    return staged;
  }

  int rank_;
  Room& room_;
  StreamMover& mover_;
  const RankMemory& memory_;
  std::uint32_t next_ = 0;
  std::optional<std::uint32_t> pattern_;  ///< that the room shares for this call
  std::vector<std::pair<Tensor, Tensor>> back_;
};

StagedCommunicator::StagedCommunicator(Communicator& below, int ranks, int rank, CudaDevice& device)
    : Communicator(ranks), below_(below), rank_(rank), device_(device) {}

void StagedCommunicator::move(const Call& call, const RankMemory& memory) {
  if (store_of(call.op)) {  // its rows are in host memory
    call.mover.settle();    // finishes copies of this lane to and from that memory
    return below_.run(call.lane, call.op, memory, call.phase, host_mover(), &call.meter);
  }
  auto& room = rooms_[at(call.lane)];
  if (!room) room = std::make_unique<Room>(device_);
  auto& mover = static_cast<StreamMover&>(call.mover);
  Stage stage(rank_, *room, mover, memory);
  const Op staged = std::visit(stage, call.op);
  mover.settle();
  below_.run(call.lane, staged, room->memory, call.phase, host_mover(), &call.meter);
  stage.bring_back();
}

}  // namespace orrery::cuda
