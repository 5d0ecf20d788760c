// The communicator of NCCL, on an emulated NCCL whose ranks are threads.
#include "backends/cuda/nccl_communicator.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <chrono>
#include <cstdlib>
#include <future>
#include <thread>

#include "backends/cuda/lane.hpp"
#include "backends/reference/reference.hpp"
#include "core/base/error.hpp"
#include "core/strategy/make_strategy.hpp"
#include "experiments/execute/open_device.hpp"
#include "tests/cuda/library.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

/// Ranks that are threads with a GPU each, and NCCL among them.
class NcclRanks {
 public:
  explicit NcclRanks(int count) : count_(count), all_here_(count) {}

  template <class Body>
  void run(const Body& body, double wait_seconds = 60) {
    std::vector<std::future<void>> ranks;
    for (int r = 0; r < count_; ++r)
      ranks.push_back(std::async(std::launch::async, [&, r] {
        cuda::CudaDevice::Options of_device;
        of_device.gpu = {0, count_, ""};
        of_device.device_bytes = std::int64_t{64} << 20;
        of_device.host_kernels = make_reference_kernels;
        cuda::CudaDevice device(of_device);
        cuda::NcclCommunicator::Options options;
        options.rank = r;
        options.size = count_;
        options.share = [&](std::string& bytes) { share(r, bytes); };
        options.wait_seconds = wait_seconds;
        options.failed = [this](const std::string& what) { failed_.set_value(what); };
        cuda::NcclCommunicator communicator(device, options);
        body(r, device, communicator);
      }));
    for (auto& rank : ranks) rank.get();
  }
  std::shared_future<std::string> failure() { return failed_.get_future().share(); }

 private:
  void share(int rank, std::string& bytes) {
    if (rank == 0) shared_ = bytes;
    all_here_.arrive_and_wait();
    bytes = shared_;
    all_here_.arrive_and_wait();
  }

  int count_;
  std::string shared_;
  std::barrier<> all_here_;
  std::promise<std::string> failed_;
};

class Nccl : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::string(std::getenv("ORRERY_CUDA_LIBRARY")).ends_with(ORRERY_EMULATED_LIBRARY))
      GTEST_SKIP() << "NCCL needs a GPU for each rank";
    testing::emulate_lazily(
        false);  // the emulated NCCL waits for the other ranks where it is called
  }
  void TearDown() override { testing::emulate_lazily(true); }
};

class NcclRuns : public Nccl, public ::testing::WithParamInterface<testing::NamedStrategy> {};

/// Each group of a strategy becomes a communicator of its own; parts are unequal, so that gathers
/// and scatters are made of single broadcasts and reductions.
TEST_P(NcclRuns, LearnTheSameAsRanksThatAreThreads) {
  Problem problem =
      testing::make_problem(testing::random_dataset(83, 500, 12, 5, true), 4, GetParam().config);
  problem.train.epochs = 4;
  const auto plan = make_strategy(problem);
  ExecuteOptions options;
  options.guard_bytes = 64;
  std::vector<RankOutcome> ranks(4);
  std::vector<double> got;

  NcclRanks(4).run([&](int r, RankDevice& device, Communicator& communicator) {
    const RankHooks hooks{[](int) { return false; },
                          [&](const EpochReport& report, double) {
                            if (r == 0) got.push_back(*report.loss);
                          }};
    ranks[static_cast<std::size_t>(r)] =
        execute_rank(TrainingBody(*plan, problem), options, r, 1, device, communicator, hooks);
  });

  const Outcome want = testing::execute(problem, "cpu");
  ASSERT_EQ(got.size(), want.epochs.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], *want.epochs[i].loss, 1e-4 * *want.epochs[i].loss) << "epoch " << i;
}

std::vector<testing::NamedStrategy> strategies() {
  auto all = testing::all_strategies();
  std::erase_if(all, [](const auto& s) {
    return s.config.type == "spmm_2d" || s.config.type == "mini_batch";  // NCCL has no stores
  });
  return all;
}
INSTANTIATE_TEST_SUITE_P(Strategies, NcclRuns, ::testing::ValuesIn(strategies()),
                         [](const auto& each) { return each.param.name; });

/// A rank's tensors, and collectives on them.
struct Rank {
  Rank(cuda::CudaDevice& device, Communicator& communicator)
      : memory(64, device), lane(device), communicator_(communicator) {}
  Tensor tensor(const std::vector<float>& values) {
    const auto n = static_cast<std::int64_t>(values.size());
    const Tensor t{next_++, {n, 1}, DType::f32, Space::device, 0, 1};
    memory.allocate(t.id, t.bytes());
    lane.kernels().run(Load{FloatArray{std::make_shared<const std::vector<float>>(values)}, t},
                       memory);
    return t;
  }
  std::vector<float> values(const Tensor& t) {
    lane.mover().settle();
    std::vector<float> values(static_cast<std::size_t>(t.rows()));
    memory.read(t, values.data());
    return values;
  }
  void run(const Op& op) { communicator_.run(Lane::comm, op, memory, {}, lane.mover()); }

  RankMemory memory;
  cuda::CudaLane lane;

 private:
  Communicator& communicator_;
  std::uint32_t next_ = 0;
};

std::shared_ptr<const std::vector<std::int64_t>> rows(std::vector<std::int64_t> list) {
  return std::make_shared<const std::vector<std::int64_t>>(std::move(list));
}

TEST_F(Nccl, UnequalScattersAndGathersLeaveTheirOperandsAlone) {
  NcclRanks(3).run([](int r, cuda::CudaDevice& device, Communicator& communicator) {
    Rank rank(device, communicator);
    const Group all = world_group(3);
    const auto each = rows({1, 3, 2});
    const auto f = static_cast<float>(r);
    const std::vector<float> mine{f, f + 1, f + 2, f + 3, f + 4, f + 5};
    const Tensor x = rank.tensor(mine);
    const Tensor y = rank.tensor(std::vector<float>(static_cast<std::size_t>((*each)[r]), -1));
    const Tensor z = rank.tensor(std::vector<float>(6, -1));

    rank.run(ReduceScatter{x, y, each, all});
    rank.run(AllGather{y, z, each, all});

    EXPECT_EQ(rank.values(x), mine);
    EXPECT_EQ(rank.values(z), (std::vector<float>{3, 6, 9, 12, 15, 18}));
    EXPECT_TRUE(rank.memory.guards_intact());
  });
}

TEST_F(Nccl, GroupsMeetWithoutTheOthers) {
  NcclRanks(4).run([](int r, cuda::CudaDevice& device, Communicator& communicator) {
    Rank rank(device, communicator);
    const Group row{static_cast<std::uint16_t>(1 + r / 2), r / 2 * 2, 2, 1};
    const Tensor x = rank.tensor({static_cast<float>(r + 1)});

    rank.run(AllReduce{x, row});

    EXPECT_EQ(rank.values(x), (std::vector<float>{r < 2 ? 3.0F : 7.0F}));
    EXPECT_EQ(communicator.received_from()[static_cast<std::size_t>(r ^ 1)], 4);
  });
}

TEST_F(Nccl, RefusesStoresAndSaysWhatToUse) {
  NcclRanks(2).run([](int, cuda::CudaDevice& device, Communicator& communicator) {
    Rank rank(device, communicator);
    try {
      rank.run(Expose{{3, world_group(2)}, rank.tensor({1, 2})});
      ADD_FAILURE() << "went on";
    } catch (const ConfigError& error) {
      EXPECT_STREQ(error.what(),
                   "expose: hosts serve the rows of stores, nccl does not: use backend mpi");
    }
  });
}

TEST_F(Nccl, AnOperationThatDoesNotEndIsToldWithItsRankAndAborted) {
  NcclRanks ranks(2);
  auto failure = ranks.failure();
  const auto begin = std::chrono::steady_clock::now();

  ranks.run(
      [&](int r, cuda::CudaDevice& device, Communicator& communicator) {
        Rank rank(device, communicator);
        const Tensor x = rank.tensor({1, 2});
        if (r == 0) {
          rank.run(AllReduce{x, world_group(2)});  // goes on when it has been aborted
          EXPECT_THROW(rank.run(AllReduce{x, world_group(2)}), Aborted);
        } else {
          failure.wait();
        }
      },
      0.5);

  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_EQ(failure.get().find("rank 0: all_reduce, setup on comm has not ended in "), 0U);
}

}  // namespace
}  // namespace orrery
