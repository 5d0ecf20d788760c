// Ranks that throw, die, stop or do something else than the others.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <thread>

#include "core/base/error.hpp"
#include "tests/comm_mpi/scenarios.hpp"
#include "tests/support/stores.hpp"

namespace orrery::testing {
namespace {

constexpr Phase kPhase{Stage::synchronise, 3, -1};

/// All ranks sum again and again; in the fifth round rank 1 does something else.
Scenario summing_until(const std::function<void()>& rank_1_does) {
  return {[=](MpiWorld& world) {
    world.run([&](Communicator& communicator) {
      Rank rank;
      const Tensor x = rank.tensor(100, 10, std::vector<float>(1000, 1));
      for (int round = 0; round < 1000000; ++round) {
        if (round == 5 && world.rank() == 1) rank_1_does();
        communicator.run(Lane::comm, AllReduce{x, world_group(world.size())}, rank.memory, kPhase);
      }
    });
  }};
}

void sleep_seconds(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// Rank 1 broadcasts `theirs` columns where the others broadcast, or sum, `ours`.
Scenario mismatch(bool sums, std::int64_t ours, std::int64_t theirs) {
  return {[=](MpiWorld& world) {
    world.run([&](Communicator& communicator) {
      Rank rank;
      const Group all = world_group(world.size());
      const Tensor x = rank.tensor(8, world.rank() == 1 ? theirs : ours);
      if (sums && world.rank() != 1)
        communicator.run(Lane::comm2, AllReduce{x, all}, rank.memory, kPhase);
      else
        communicator.run(Lane::comm2, Broadcast{x, 1, all}, rank.memory, kPhase);
      sleep_seconds(5);  // only those who receive can see it
    });
  }};
}

/// Made after a rank's memory: its stores close before that goes. When an error passes, those who ask
/// meanwhile must wait for what it says, as with an executor.
struct ClosesStores {
  Communicator& communicator;
  ~ClosesStores() {
    if (std::uncaught_exceptions() > 0) communicator.abort("rank stopped");
    communicator.close_stores();
  }
};

/// Three rows of two columns with every rank; all pull one of each, again and again; in the fifth
/// round rank 1 does something else. Its kernels never answer: the service alone does.
Scenario pulling_until(const std::function<void(Communicator&, HostRank&)>& rank_1_does,
                       int rounds = 1000000) {
  return {[=](MpiWorld& world) {
    world.run([&](Communicator& communicator) {
      HostRank rank;
      const ClosesStores closes{communicator};
      const int p = world.size();
      const Store store{3, world_group(p)};
      const auto run = [&](const Op& op) {
        communicator.run(Lane::store, op, rank.memory, kPhase);
      };
      const Tensor table = rank.filled(3, 2, 1.0F), y = rank.filled(p, 2, 0.0F),
                   index = rank.filled<std::int32_t>(p, 1, 2);
      run(Expose{store, table});
      for (int round = 0; round < rounds; ++round) {
        if (round == 5 && world.rank() == 1) rank_1_does(communicator, rank);
        run(Pull{store, index, rows(std::vector<std::int64_t>(static_cast<std::size_t>(p), 1)), y});
      }
      run(AllReduce{table, world_group(p)});  // nobody asks any more
    });
  }};
}

/// Rank 1 pulls or pushes the row `row` of rank 0.
Scenario asking_for(std::int32_t row, bool push) {
  return pulling_until([=](Communicator& communicator, HostRank& rank) {
    const Store store{3, world_group(3)};
    const Tensor index = rank.filled(1, 1, row), values = rank.filled(1, 2, 1.0F);
    if (push)
      communicator.run(Lane::store, Push{store, index, rows({1, 0, 0}), values}, rank.memory);
    else
      communicator.run(Lane::store, Pull{store, index, rows({1, 0, 0}), values}, rank.memory);
  });
}

/// Rank 1 exposes rows of another width, or withdraws where the others expose.
Scenario other_rows(bool withdraws) {
  return {[=](MpiWorld& world) {
    world.run([&](Communicator& communicator) {
      HostRank rank;
      const bool other = world.rank() == 1;
      const Store store{3, world_group(world.size())};
      const Tensor table = rank.filled(3, other && !withdraws ? 3 : 2, 1.0F);
      if (other && withdraws)
        communicator.run(Lane::store, Withdraw{store, table}, rank.memory, kPhase);
      else
        communicator.run(Lane::store, Expose{store, table}, rank.memory, kPhase);
    });
  }};
}

/// Rows that others read without their owner take no push.
Scenario push_to_server_host() {
  return {[](MpiWorld& world) {
    world.run([](Communicator& communicator) {
      HostRank rank(communicator.server_storage());
      const Store store{3, world_group(2)};
      const Tensor index = rank.filled(1, 1, 0), values = rank.filled(1, 2, 1.0F);
      const Tensor table = rank.tensor(3, 2, std::vector<float>(6, 1.0F), Space::server_host);
      communicator.run(Lane::store, Expose{store, table}, rank.memory, kPhase);
      communicator.run(Lane::store, Push{store, index, rows({1, 0}), values}, rank.memory, kPhase);
    });
  }};
}

}  // namespace

void add_failures(Scenarios& all) {
  all["owner_killed"] =
      pulling_until([](Communicator&, HostRank&) { ::kill(::getpid(), SIGKILL); });
  all["owner_stopped"] =
      pulling_until([](Communicator&, HostRank&) { ::kill(::getpid(), SIGSTOP); });
  all["owner_throws"] =
      pulling_until([](Communicator&, HostRank&) { throw Error("no room for t7"); });
  all["stores_left_open"] = pulling_until([](Communicator&, HostRank&) {}, 10);
  all["absent_row"] = asking_for(3, false);
  all["absent_row_pushed"] = asking_for(-1, true);
  all["push_to_server_host"] = push_to_server_host();
  all["other_width"] = other_rows(false);
  all["other_store_operation"] = other_rows(true);
  all["throws"] =
      summing_until([] { throw Error("no room for t7 (in gemm, epoch 3 backward layer 1)"); });
  all["killed"] = summing_until([] { ::kill(::getpid(), SIGKILL); });
  all["stopped"] = summing_until([] { ::kill(::getpid(), SIGSTOP); });
  all["leaves"] = summing_until([] { ::_exit(0); });
  all["absent"] = summing_until([] { sleep_seconds(60); });
  all["absent"].options = [](MpiOptions& options) { options.wait_seconds = 2; };
  all["late"] = {[](MpiWorld& world) {
    if (world.rank() == 1) sleep_seconds(2);
    world.any(false);
  }};
  all["late"].options = [](MpiOptions& options) { options.notice_seconds = 0.5; };
  all["other_operation"] = mismatch(true, 4, 4);
  all["other_size"] = mismatch(false, 4, 5);
  all["other_exchange"] = {[](MpiWorld& world) {
    std::string text = "text";
    if (world.rank() == 1)
      world.share(text, 1);
    else
      world.all_gather(text);
  }};
  all["throws_outside"] = {[](MpiWorld& world) {
    if (world.rank() == 1) throw Error("not caught inside");
    world.any(true);
  }};
  all["throws_past_the_world"] = all["throws_outside"];
  all["killed_in_exchange"] = {[](MpiWorld& world) {
    if (world.rank() == 1) ::kill(::getpid(), SIGKILL);
    world.any(true);
  }};
  all["lane_fails_beside_a_wait"] = {[](MpiWorld& world) {
    world.run([&](Communicator& communicator) {
      Rank rank;
      const Tensor x = rank.tensor(1, 4);
      if (world.rank() == 1) return sleep_seconds(30);
      std::thread other([&] {
        sleep_seconds(0.3);
        communicator.abort("another lane has failed");
      });
      try {
        communicator.run(Lane::comm, AllReduce{x, world_group(world.size())}, rank.memory, kPhase);
      } catch (const Aborted&) {
        other.join();
        throw Error("the other lane's failure");
      }
    });
  }};
}

}  // namespace orrery::testing
