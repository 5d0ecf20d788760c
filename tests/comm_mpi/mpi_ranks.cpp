// One rank of a test job: `mpirun -n P mpi_ranks SCENARIO`. Ends with 1 when an expectation fails.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <thread>

#include "core/base/error.hpp"
#include "core/runtime/execute/executor.hpp"
#include "tests/comm_mpi/scenarios.hpp"
#include "tests/support/busy_kernels.hpp"
#include "tests/support/collectives.hpp"
#include "tests/support/stores.hpp"

namespace orrery::testing {
namespace {

std::atomic<bool> ending = false;

Ranks ranks_of(MpiWorld& world) {
  return {world.size(), [&world](const auto& body) {
            world.run([&](Communicator& communicator) { body(world.rank(), communicator); });
          }};
}

void all_cases(MpiWorld& world) {
  for (const auto& [name, check] : collective_cases()) {
    SCOPED_TRACE(name + " on rank " + std::to_string(world.rank()));
    check(ranks_of(world));
  }
}

void all_store_cases(MpiWorld& world) {
  for (const auto& [name, check] : store_cases()) {
    SCOPED_TRACE(name + " on rank " + std::to_string(world.rank()));
    check(ranks_of(world));
  }
}

/// Rank 1 computes for a second; rank 0 pulls meanwhile, at moments that have nothing to do with when
/// rank 1 looks for requests. Rows in server_host are read without it.
void pull_from_busy_owner(MpiWorld& world, Space space) {
  world.run([&](Communicator& communicator) {
    using Clock = std::chrono::steady_clock;
    const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
    const int r = world.rank();
    const Store store{3, world_group(2)};
    Executor::Options options;
    options.rank = r;
    options.size = 2;
    options.placement = world.placement();
    Executor rt(
        options, [] { return std::make_unique<BusyKernels>(1.0); }, communicator);
    const Tensor table = rt.alloc({1000, 128}, DType::f32, space, "rows");
    const Tensor index = rt.alloc({1000, 1}, DType::i32, Space::host, "index");
    const Tensor y = rt.alloc({1000, 128}, DType::f32, Space::host, "pulled");
    const Tensor x = rt.alloc({1, 1}, DType::f32, Space::device, "x");
    std::fill_n(rt.memory().data<float>(table), 128000, static_cast<float>(r + 1));
    std::fill_n(rt.memory().data<std::int32_t>(index), 1000, 999);
    rt.submit(Lane::store, Expose{store, table});
    rt.sync(rt.record(Lane::store));
    const auto begin = Clock::now();
    if (r == 1) rt.submit(Lane::compute, Fill{x, 0});
    std::vector<double> took;
    Sequence draws(1, Purpose::sampler, 0);
    while (r == 0 && seconds(Clock::now() - begin) < 0.9) {
      std::this_thread::sleep_for(std::chrono::duration<double>(0.02 * draws.uniform()));
      const auto asked = Clock::now();
      rt.submit(Lane::store, Pull{store, index, rows({0, 1000}), y});
      rt.sync(rt.record(Lane::store));
      took.push_back(seconds(Clock::now() - asked));
    }
    if (r == 0) {
      EXPECT_EQ(rt.memory().data<float>(y)[127999], 2);
      std::sort(took.begin(), took.end());
      ASSERT_GT(took.size(), 2U);
      EXPECT_LT(took[took.size() / 2], 0.1) << "of a kernel that takes a second";
      const auto within = std::lower_bound(took.begin(), took.end(), 5e-3) - took.begin();
      std::printf(
          "pulls from a busy owner%s: median %.2f ms, longest %.2f ms, %d of %zu within 5 ms\n",
          space == Space::server_host ? ", in server_host" : "", 1e3 * took[took.size() / 2],
          1e3 * took.back(), static_cast<int>(within), took.size());
    }
    rt.submit(Lane::store, Withdraw{store, table});
    rt.sync(rt.record(Lane::store));
    for (const Tensor& t : {table, index, y, x}) rt.release(t);
    rt.finish();
  });
}
void busy_owner(MpiWorld& world) {
  for (const Space space : {Space::host, Space::server_host}) pull_from_busy_owner(world, space);
}

std::ptrdiff_t threads_of_this_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}
double processor_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

/// Runs without stores have no thread more; an open store of which nobody asks anything takes next
/// to no processor time.
void idle_service(MpiWorld& world) {
  world.run([&](Communicator& communicator) {
    HostRank rank;
    const Store store{3, world_group(world.size())};
    const Tensor table = rank.filled(3, 2, 1.0F);
    const auto before = threads_of_this_process();
    communicator.run(Lane::comm, AllReduce{table, store.group}, rank.memory);
    EXPECT_EQ(threads_of_this_process(), before);
    communicator.run(Lane::store, Expose{store, table}, rank.memory);
    EXPECT_EQ(threads_of_this_process(), before + 1);
    const double used = processor_seconds();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const double share = processor_seconds() - used;
    EXPECT_LT(share, 0.1);
    if (world.rank() == 0) std::printf("an idle store takes %.3f of a core\n", share);
    communicator.run(Lane::store, Withdraw{store, table}, rank.memory);
  });
}

/// Larger than any piece, chunk or message that a transfer is cut into, and no multiple of them.
void large(MpiWorld& world) {
  const int p = world.size();
  const std::int64_t n = 10'000'019;
  ranks_of(world).on_all([&](int r, Rank& rank, const auto& run) {
    const Group all = world_group(p);
    const auto filled = [&](std::int64_t count, float value) {
      return rank.tensor(count, 1, std::vector<float>(static_cast<std::size_t>(count), value));
    };
    const auto expect_all = [&](const Tensor& t, float want) {
      const float* x = rank.memory.data<float>(t);
      EXPECT_EQ(std::count(x, x + t.rows(), want), t.rows());
    };
    const Tensor x = filled(n, static_cast<float>(r + 1));
    run(Broadcast{x, p - 1, all});
    expect_all(x, static_cast<float>(p));
    run(Reduce{x, 0, all});
    expect_all(x, static_cast<float>(r == 0 ? p * p : p));
    run(Broadcast{x, 0, all});
    run(AllReduce{x, all});
    expect_all(x, static_cast<float>(p * p * p));
    const Tensor y = filled(n * p, 0);
    const std::vector<std::int64_t> each(static_cast<std::size_t>(p), n);
    run(AllGather{x, y, rows(each), all});
    expect_all(y, static_cast<float>(p * p * p));
    run(ReduceScatter{y, x, rows(each), all});
    expect_all(x, static_cast<float>(p * p * p * p));
  });
}

void exchanges(MpiWorld& world) {
  const int p = world.size();
  const std::size_t large = (p == 2 ? std::size_t{70} : 1) << 20;  // 70 MiB are two messages
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, large}) {
    const auto text_of = [&](int r) { return std::string(n + static_cast<std::size_t>(r), 'a'); };
    std::string text = text_of(world.rank());
    world.share(text, p - 1);
    EXPECT_EQ(text, text_of(p - 1));
    const auto all = world.all_gather(text_of(world.rank()));
    const auto gathered = world.gather(text_of(world.rank()));
    ASSERT_EQ(all.size(), static_cast<std::size_t>(p));
    for (int r = 0; r < p; ++r) EXPECT_EQ(all[static_cast<std::size_t>(r)], text_of(r));
    EXPECT_EQ(gathered, world.rank() == 0 ? all : std::vector<std::string>{});
  }
  EXPECT_FALSE(world.any(false));
  EXPECT_TRUE(world.any(world.rank() == p / 2));
}

void one_server(MpiWorld& world) {
  EXPECT_EQ(world.placement(), Placement::uniform(1, world.size()));
}

/// O_EXCL lets one rank of the job report.
bool may_report(const JobFailure&) {
  const char* name = std::getenv("ORRERY_TEST_REPORT");
  if (name == nullptr) return true;
  const int file = ::open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);
  if (file < 0) return false;
  ::close(file);
  return true;
}

int run(const std::string& name) {
  Scenarios scenarios{{"collectives", {all_cases}},
                      {"stores", {all_store_cases}},
                      {"busy_owner", {busy_owner}},
                      {"idle_service", {idle_service}},
                      {"large", {large}},
                      {"exchanges", {exchanges}},
                      {"one_server", {one_server}},
                      {"grid", {[](MpiWorld& world) {
                         subgroups_of_the_grid_reduce_separately(ranks_of(world));
                       }}}};
  add_failures(scenarios);
  const auto found = scenarios.find(name);
  if (found == scenarios.end()) return 2;
  ::signal(SIGTERM, [](int) { ending = true; });
  MpiOptions options;
  options.silence_seconds = 3;
  options.wait_seconds = 60;
  options.may_report = may_report;
  options.ending = &ending;
  found->second.options(options);
  MpiWorld world(options);
  try {
    found->second.part(world);
  } catch (const std::exception& error) {
    if (name == "throws_past_the_world") throw;
    world.fail(error.what());
  }
  // Expectations outside of a test are counted here.
  return ::testing::UnitTest::GetInstance()->ad_hoc_test_result().Failed() ? 1 : 0;
}

}  // namespace
}  // namespace orrery::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc != 2) return 2;
  try {
    return orrery::testing::run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "orrery: error: %s\n", error.what());
    return 1;
  }
}
