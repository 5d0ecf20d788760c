// Losses of jobs of real ranks against those of one process.
#include "tests/experiments/execute/mpi_job.hpp"

namespace orrery {
namespace {

#ifdef ORRERY_MPIRUN

using testing::kOnGpus;
using testing::MpiJob;
using testing::mpirun;

class MpiLosses : public MpiJob, public ::testing::WithParamInterface<int> {};

TEST_P(MpiLosses, EqualThoseOfOneRankForEveryStrategy) {
  EXPECT_EQ(shell(mpirun(GetParam()) + ORRERY_MPI_STRATEGIES), 0) << read("err");
}

INSTANTIATE_TEST_SUITE_P(Ranks, MpiLosses, ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8),
                         [](const auto& param) { return std::to_string(param.param); });

class MpiLossesOnGpus : public MpiLosses {};

TEST_P(MpiLossesOnGpus, EqualThoseOfOneRankForEveryStrategy) {
  EXPECT_EQ(shell(kOnGpus + mpirun(GetParam()) + ORRERY_MPI_STRATEGIES + " cuda"), 0)
      << read("err");
}

INSTANTIATE_TEST_SUITE_P(Ranks, MpiLossesOnGpus, ::testing::Values(2, 4),
                         [](const auto& param) { return std::to_string(param.param); });

#else

TEST(MpiLosses, EqualThoseOfOneRankForEveryStrategy) { GTEST_SKIP() << "MPI is not in this build"; }

#endif

}  // namespace
}  // namespace orrery
