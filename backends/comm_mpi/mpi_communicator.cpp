#include "backends/comm_mpi/mpi_communicator.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backends/comm_mpi/batch.hpp"
#include "backends/comm_mpi/kinds.hpp"
#include "backends/comm_mpi/schedules.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery::mpi {
namespace {

/// What must be equal in the calls of all ranks of a group.
std::uint64_t call_of(const Group& g, std::int64_t root, std::int64_t bytes) {
  std::uint64_t mixed = g.id;
  for (const std::int64_t part :
       {std::int64_t{g.first}, std::int64_t{g.size}, std::int64_t{g.stride}, root, bytes})
    mixed = (mixed ^ static_cast<std::uint64_t>(part)) * 0x100000001B3U;
  return mixed;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::int64_t at(const std::vector<std::int64_t>& list, int i) { return list[orrery::at(i)]; }

}  // namespace

/// One call: operands turned into parts of memory, handed to the schedules.
class MpiCommunicator::Move {
 public:
  Move(MpiCommunicator& owner, const Call& call, const RankMemory& memory)
      : owner_(owner), engine_(owner.engine_), call_(call), memory_(memory) {}

  void operator()(const SendRecv& o) {
    Batch batch = batch_for(o.group, 0, 0);
    if (o.recv) {
      const Part into = part(*o.recv);
      batch.receive(0, o.group.rank_of(o.from), into.data, into.bytes);
    }
    if (o.send) {
      const Part from = part(*o.send);
      batch.send(0, o.group.rank_of(o.to), from.data, from.bytes);
    }
    batch.wait(0);
  }

  void operator()(const Broadcast& o) {
    const Part x = part(o.x);
    Batch batch = batch_for(o.group, o.root, x.bytes);
    count_as_from(batch, o.group.rank_of(o.root));
    broadcast(batch, o.group, me(o.group), o.root, {&x, 1});
  }

  void operator()(const BroadcastSparse& o) {
    Batch batch = batch_for(o.group, o.root, o.a.shape.rows * 31 + o.a.nnz);
    count_as_from(batch, o.group.rank_of(o.root));
    // The root's pattern is only read.
    auto& pattern =
        me(o.group) == o.root ? const_cast<Csr&>(memory_.pattern(o.a)) : memory_.fill_sparse(o.a);
    const std::array<Part, 3> parts{Part{pattern.offsets.data(), (o.a.shape.rows + 1) * 8},
                                    Part{pattern.columns.data(), o.a.nnz * 4}, part(o.values)};
    broadcast(batch, o.group, me(o.group), o.root, parts);
  }

  void operator()(const Reduce& o) {
    const std::int64_t n = o.x.shape.size();
    std::vector<std::int64_t> bounds(static_cast<std::size_t>(o.group.size) + 1, 0);
    std::fill(bounds.begin() + o.root + 1, bounds.end(), n);  // one slice: the root's
    sum(o.group, o.root, o.x, o.x, 0, bounds, false);
  }

  void operator()(const AllReduce& o) {
    std::vector<std::int64_t> bounds;
    for (int i = 0; i <= o.group.size; ++i) bounds.push_back(o.x.shape.size() * i / o.group.size);
    sum(o.group, 0, o.x, o.x, at(bounds, me(o.group)), bounds, true);
  }

  void operator()(const ReduceScatter& o) {
    std::vector<std::int64_t> bounds{0};
    for (const std::int64_t rows : *o.rows) bounds.push_back(bounds.back() + rows * o.x.cols());
    sum(o.group, 0, o.x, o.y, 0, bounds, false);
  }

  void operator()(const AllGather& o) {
    Batch batch = batch_for(o.group, 0, o.y.bytes());
    const std::vector<Part> send(static_cast<std::size_t>(o.group.size), part(o.x));
    exchange(batch, o.group, me(o.group), send, rows_of(o.y, *o.rows));
  }

  void operator()(const AllToAllV& o) {
    Batch batch = batch_for(o.group, 0, o.x.cols());
    exchange(batch, o.group, me(o.group), rows_of(o.x, *o.send_rows), rows_of(o.y, *o.recv_rows));
  }

  void operator()(const Expose& o) {
    const std::int64_t row = o.rows.cols() * bytes_of(o.rows.dtype);
    if (row > kWidestRow)
      throw Error(
          fmt::format("{}: rows of {} bytes are too wide for MPI, which takes {}: cut the "
                      "table by columns",
                      to_string(o.store), row, kWidestRow));
    const auto served = [&owner = owner_](int from, std::int64_t bytes) {
      if (from != owner.engine_.rank()) owner.count_received(from, bytes);
    };
    owner_.service_.open(o.store, std::make_shared<ExposedRows>(o.rows, memory_, served));
    Opened mine{o.rows.rows(), {}};
    if (o.rows.space == Space::server_host)
      mine.place = owner_.server_storage_.place_of(memory_.bytes_at(o.rows));
    std::vector<std::int64_t> rows;
    std::vector<std::shared_ptr<MappedRows>> mapped;
    for (const Opened& one :
         trade(o.store, o.rows, std::vector(orrery::at(o.store.group.size), mine))) {
      const int owner = o.store.group.rank_of(static_cast<int>(rows.size()));
      const bool near =
          owner != engine_.rank() && engine_.placement().same_server(owner, engine_.rank());
      rows.push_back(one.rows);
      mapped.push_back(near ? MappedRows::open(one.place) : nullptr);
    }
    owner_.service_.all_open(o.store, std::move(rows), std::move(mapped));
  }

  /// When all have come here, nobody asks any more. Owners hear what was read without them.
  void operator()(const Withdraw& o) {
    std::vector<std::int64_t> read(orrery::at(o.store.group.size));
    if (const auto own = owner_.service_.find(o.store))
      for (std::size_t i = 0; i < own->mapped.size(); ++i)
        if (own->mapped[i]) read[i] = own->mapped[i]->numbers_read;
    const std::vector<std::int64_t> numbers = trade(o.store, o.rows, std::move(read));
    for (int i = 0; i < o.store.group.size; ++i)
      owner_.count_received(o.store.group.rank_of(i), at(numbers, i));
    owner_.service_.close(o.store);
  }

  void operator()(const Pull& o) {
    const auto* places = o.places ? memory_.data<std::int32_t>(*o.places) : nullptr;
    ask(o, o.y, places, false, [&](const OpenStore& own, const OwnerRequest& mine, char* y) {
      return places != nullptr
                 ? own.rows->read(engine_.rank(), mine.index, y, places + mine.first)
                 : own.rows->read(engine_.rank(), mine.index, y + mine.first * row_bytes_of(o.y));
    });
  }

  void operator()(const Push& o) {
    ask(o, o.x, nullptr, true, [&](const OpenStore& own, const OwnerRequest& mine, char* x) {
      return own.rows->add(engine_.rank(), mine.index,
                           reinterpret_cast<float*>(x + mine.first * row_bytes_of(o.x)));
    });
  }

  template <class T>
  void operator()(const T&) {
    ORRERY_ASSERT(!"a local op");
  }

 private:
  int me(const Group& group) const { return group.index_of(engine_.rank()); }
  Part part(const Tensor& t) const { return {memory_.bytes_at(t), t.bytes()}; }

  /// `t` cut into rows[i] rows for each group index.
  std::vector<Part> rows_of(const Tensor& t, const std::vector<std::int64_t>& rows) const {
    auto* next = static_cast<char*>(memory_.bytes_at(t));
    std::vector<Part> parts;
    for (const std::int64_t count : rows) {
      parts.push_back({next, count * t.cols() * bytes_of(t.dtype)});
      next += parts.back().bytes;
    }
    return parts;
  }

  Batch batch_for(const Group& group, int root, std::int64_t bytes) {
    const Title title{kind_of(call_.op), kind_of_op(call_.op), &call_.phase, call_.lane};
    return {engine_,
            engine_.comm_of(call_.lane),
            title,
            call_of(group, root, bytes),
            [this](int from, std::int64_t got) {
              if (from != engine_.rank()) owner_.count_received(from, got);
            },
            &call_.meter};
  }

  /// A broadcast's bytes are the root's, whoever passed them on.
  void count_as_from(Batch& batch, int root) {
    batch.on_received = [this, root](int, std::int64_t got) { owner_.count_received(root, got); };
  }

  /// What a rank tells the others when it opens a store.
  struct Opened {
    std::int64_t rows = 0;
    SharedPlace place;
  };

  /// What every member of a store has for this rank, which has `mine` for them, by group index. All
  /// must have rows of the same width and type.
  template <class T>
  std::vector<T> trade(const Store& store, const Tensor& rows, std::vector<T> mine) {
    Batch batch = batch_for(store.group, store.id, rows.cols() * 4 + static_cast<int>(rows.dtype));
    batch.on_received = nullptr;  // words about the store, none of its rows
    std::vector<T> theirs(mine.size());
    std::vector<Part> send, receive;
    for (T& one : mine) send.push_back({&one, sizeof one});
    for (T& one : theirs) receive.push_back({&one, sizeof one});
    exchange(batch, store.group, me(store.group), send, receive);
    return theirs;
  }

  static std::int64_t row_bytes_of(const Tensor& t) { return t.cols() * bytes_of(t.dtype); }

  /// A pull or push: serve_own(own, part, first row of all) does this rank's own part, and owners
  /// do the others.
  template <class T, class ServeOwn>
  void ask(const T& o, const Tensor& values, const std::int32_t* places, bool adds,
           const ServeOwn& serve_own) {
    const int rank = engine_.rank();
    const auto own = owner_.service_.find(o.store);
    if (!own || own->rows_of_index.empty()) throw_not_exposed(o.store);
    require_same_width(rank, o.store, values, own->rows->window());
    auto requests = requests_of(o, memory_);
    for (const OwnerRequest& r : requests)
      require_rows(o.store, r, at(own->rows_of_index, r.owner_index));
    if (adds) require_pushable(rank, o.store, own->rows->window());
    auto* first = static_cast<char*>(memory_.bytes_at(values));
    const auto far = std::stable_partition(requests.begin(), requests.end(), [&](const auto& r) {
      return r.owner == rank || (!adds && own->mapped[orrery::at(r.owner_index)]);
    });
    const auto do_near = [&] {
      for (const OwnerRequest& r : std::span(requests.begin(), far))
        if (r.owner != rank)
          read_mapped(*own->mapped[orrery::at(r.owner_index)], r, values, places);
        else if (!serve_own(*own, r, first))
          throw_not_exposed(o.store);
    };
    if (far == requests.end()) {
      {
        const std::lock_guard lock(library_lock());
        engine_.require_alive();
      }
      return do_near();
    }
    const int kind = kind_of_op(call_.op);
    Batch batch(engine_, engine_.rows_comm(), {T::kKind, kind, &call_.phase, call_.lane}, 0, {},
                &call_.meter);
    if (!adds)
      batch.on_received = [this](int from, std::int64_t got) { owner_.count_received(from, got); };
    const RowRequest head{o.store, own->opening, Engine::answer_tag(kind, call_.lane), 0,
                          adds ? 1 : 0};
    ask_owners(batch, {head, {far, requests.end()}, first, places, row_bytes_of(values)}, do_near);
  }

  /// y ← the rows of an owner whose memory this rank has mapped.
  void read_mapped(MappedRows& mapped, const OwnerRequest& r, const Tensor& y,
                   const std::int32_t* places) {
    const std::int64_t row = row_bytes_of(y);
    auto* to = static_cast<char*>(memory_.bytes_at(y));
    call_.meter.time.under_way(false, +1, now());
    if (places != nullptr)
      copy_rows(mapped.first(), row, r.index, to, places + r.first);
    else
      copy_rows(mapped.first(), row, r.index, to + r.first * row, nullptr);
    call_.meter.time.under_way(false, -1, now());
    mapped.numbers_read += static_cast<std::int64_t>(r.index.size_bytes());
    owner_.count_received(r.owner, static_cast<std::int64_t>(r.index.size()) * row);
  }

  [[noreturn]] void throw_not_exposed(const Store& store) {
    {
      const std::lock_guard lock(library_lock());
      engine_.require_alive();  // if a failure of this rank has closed it, that is reported
    }
    throw not_exposed(engine_.rank(), store, engine_.rank());
  }

  /// out[offset...] ← this rank's slice of Σ x.
  void sum(const Group& group, int root, const Tensor& x, const Tensor& out, std::int64_t offset,
           std::span<const std::int64_t> bounds, bool spread) {
    Batch batch = batch_for(group, root, x.bytes());
    const auto run = [&]<class T>(T*) {
      T* from = memory_.data<T>(x);
      sum_slices<T>(batch, group, me(group), bounds, from, memory_.data<T>(out) + offset,
                    spread ? from : nullptr);
    };
    if (x.dtype == DType::f64)
      run(static_cast<double*>(nullptr));
    else
      run(static_cast<float*>(nullptr));
  }

  MpiCommunicator& owner_;
  Engine& engine_;
  const Call& call_;
  const RankMemory& memory_;
};

Storage& MpiCommunicator::server_storage() {
  for (int r = 0; r < engine_.size(); ++r)
    if (r != engine_.rank() && engine_.placement().same_server(r, engine_.rank()))
      return server_storage_;
  return host_storage();
}

void MpiCommunicator::move(const Call& call, const RankMemory& memory) {
  std::visit(Move(*this, call, memory), call.op);
}

}  // namespace orrery::mpi
