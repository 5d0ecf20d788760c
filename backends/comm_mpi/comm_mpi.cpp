#include "backends/comm_mpi/comm_mpi.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "backends/comm_mpi/batch.hpp"
#include "backends/comm_mpi/engine.hpp"
#include "backends/comm_mpi/kinds.hpp"
#include "backends/comm_mpi/mpi_communicator.hpp"
#include "backends/comm_mpi/schedules.hpp"
#include "backends/comm_mpi/watchdog.hpp"
#include "core/base/error.hpp"
#include "core/terminal/message.hpp"

namespace orrery {

using mpi::Batch;
using mpi::Exchange;
using mpi::Part;

namespace {

constexpr int kWrongUse = 2;  // exit status for a fault of the experiment

}  // namespace

struct MpiWorld::Parts {
  explicit Parts(MpiOptions options)
      : engine(std::move(options)), watchdog(engine), all(world_group(engine.size())) {}

  Batch batch(Exchange exchange) {
    const int kind = mpi::kind_of_exchange(exchange);
    return {engine, engine.host_comm(), {mpi::kind_name(kind), kind}};
  }

  /// Rank r's bytes, at every rank for which to(rank) holds.
  template <class Receives>
  std::vector<std::string> collect(Exchange exchange, const std::string& bytes,
                                   const Receives& receives) {
    const auto p = static_cast<std::size_t>(engine.size());
    std::vector<std::int64_t> sizes(p);
    std::vector<std::string> got(p);
    auto size = static_cast<std::int64_t>(bytes.size());
    std::vector<Part> send(p), receive(p);
    for (std::size_t r = 0; r < p; ++r) {
      if (receives(static_cast<int>(r))) send[r] = {&size, 8};
      if (receives(engine.rank())) receive[r] = {&sizes[r], 8};
    }
    swap(exchange, send, receive);
    for (std::size_t r = 0; r < p; ++r) {
      got[r].resize(static_cast<std::size_t>(sizes[r]));
      if (receives(static_cast<int>(r))) send[r] = {const_cast<char*>(bytes.data()), size};
      if (receives(engine.rank())) receive[r] = {got[r].data(), sizes[r]};
    }
    swap(exchange, send, receive);
    if (!receives(engine.rank())) got.clear();
    return got;
  }

  void swap(Exchange kind, std::span<const Part> send, std::span<const Part> receive) {
    Batch messages = batch(kind);
    mpi::exchange(messages, all, engine.rank(), send, receive);
  }

  /// An error leaves the world without MPI_Finalize, which would wait for ranks that wait for this
  /// one. Whoever catches the error reports it.
  void abandon() {
    static std::atomic<Parts*> left_behind;  // no leak
    left_behind = this;
    engine.freeze("this rank has failed");
    watchdog.abandon();
    engine.claim("this rank has failed");
  }

  mpi::Engine engine;
  mpi::Watchdog watchdog;
  Group all;
};

bool MpiWorld::built() { return true; }

MpiWorld::MpiWorld(MpiOptions options) : parts_(std::make_unique<Parts>(std::move(options))) {}

MpiWorld::~MpiWorld() {
  if (std::uncaught_exceptions() > 0) {
    parts_.release()->abandon();
    return;
  }
  try {
    parts_->collect(Exchange::leave, {}, [](int) { return true; });
  } catch (const std::exception& error) {
    fail(error.what());
  }
  parts_->watchdog.stop();
}

int MpiWorld::rank() const { return parts_->engine.rank(); }
int MpiWorld::size() const { return parts_->engine.size(); }
Placement MpiWorld::placement() const { return parts_->engine.placement(); }

void MpiWorld::share(std::string& bytes, int root) {
  auto size = static_cast<std::int64_t>(bytes.size());
  Batch batch = parts_->batch(Exchange::share);
  const Part header{&size, 8};
  mpi::broadcast(batch, parts_->all, rank(), root, {&header, 1});
  bytes.resize(static_cast<std::size_t>(size));
  const Part body{bytes.data(), size};
  mpi::broadcast(batch, parts_->all, rank(), root, {&body, 1});
}

std::vector<std::string> MpiWorld::gather(const std::string& bytes) {
  return parts_->collect(Exchange::gather, bytes, [](int r) { return r == 0; });
}

std::vector<std::string> MpiWorld::all_gather(const std::string& bytes) {
  return parts_->collect(Exchange::all_gather, bytes, [](int) { return true; });
}

bool MpiWorld::any(bool mine) {
  const auto all = parts_->collect(Exchange::any, mine ? "1" : "", [](int) { return true; });
  return std::any_of(all.begin(), all.end(), [](const std::string& one) { return !one.empty(); });
}

void MpiWorld::expect_end() { parts_->watchdog.expect_end(); }

void MpiWorld::run(const std::function<void(Communicator&)>& body) {
  mpi::MpiCommunicator communicator(parts_->engine);
  try {
    body(communicator);
  } catch (const Aborted&) {
    parts_->engine.end();  // the failure that woke this rank is reported where it happened
  } catch (const ConfigError& error) {
    fail(error.what(), kWrongUse);
  } catch (const std::exception& error) {
    fail(message_of(error));
  }
}

void MpiWorld::fail(std::string_view what, int status) { parts_->engine.fail(what, status); }

}  // namespace orrery
