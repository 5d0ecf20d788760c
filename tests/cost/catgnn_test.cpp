#include "core/cost/catgnn.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/base/error.hpp"

namespace orrery::cost {
namespace {

/// ogbn-arxiv's 90,941 training vertices on 4 workers, batches of 512: 22,736 make 44 full ones and
/// a rest.
TEST(Catgnn, TheLastBatchMayBeSmaller) {
  EXPECT_EQ(batches_of(22736, 512), 45);
  EXPECT_EQ(batches_of(1024, 512), 2);
  EXPECT_EQ(batches_of(0, 512), 0);
}

/// 100 epochs of 45 batches.
TEST(Catgnn, GradientsAreAveragedAfterEveryBatch) { EXPECT_EQ(gradient_averagings(100, 45), 4500); }

TEST(Catgnn, ModelsAreAveragedAfterEveryInterval) {
  EXPECT_EQ(model_averagings(100, 1), 100);
  EXPECT_EQ(model_averagings(100, 20), 5);
  EXPECT_EQ(model_averagings(100, 30), 3);
  EXPECT_EQ(model_averagings(100, 101), 0);
}

TEST(Catgnn, SavingIsTheRatioOfTheCounts) {
  EXPECT_EQ(averaging_saving(45, 20), 900);
  EXPECT_EQ(gradient_averagings(100, 45) / model_averagings(100, 20), 900);
  EXPECT_EQ(averaging_saving(1, 1), 1);
}

TEST(Catgnn, LongerIntervalsNeverSynchroniseMoreOften) {
  for (std::int64_t interval = 1; interval < 120; ++interval)
    EXPECT_LE(model_averagings(100, interval + 1), model_averagings(100, interval));
}

/// 5 rounds of 2·3/4 of 1000 words.
TEST(Catgnn, WordsAreThoseOfARing) {
  EXPECT_DOUBLE_EQ(averaging_words(5, 1000, 4), 7500);
  EXPECT_EQ(averaging_words(5, 1000, 1), 0);
}

/// The paper's 32 parts on 4 GPUs; 7 parts on 3 are dealt 3 2 2; 2 on 4 leave two GPUs idle.
TEST(Catgnn, PartsAreDealtCyclically) {
  for (std::int64_t parts : {0, 2, 7, 32})
    for (std::int64_t gpus : {1, 3, 4}) {
      std::vector<std::int64_t> dealt(static_cast<std::size_t>(gpus));
      for (std::int64_t part = 0; part < parts; ++part)
        ++dealt[static_cast<std::size_t>(part % gpus)];
      for (std::int64_t gpu = 0; gpu < gpus; ++gpu)
        EXPECT_EQ(parts_on_gpu(parts, gpus, gpu), dealt[static_cast<std::size_t>(gpu)]);
    }
  EXPECT_EQ(parts_on_gpu(32, 4, 3), 8);
  EXPECT_EQ(parts_on_gpu(7, 3, 0), 3);
  EXPECT_EQ(parts_on_gpu(7, 3, 2), 2);
  EXPECT_EQ(parts_on_gpu(2, 4, 2), 0);
}

TEST(Catgnn, ImpossibleCountsAreRefused) {
  EXPECT_THROW(batches_of(-1, 512), ConfigError);
  EXPECT_THROW(batches_of(10, 0), ConfigError);
  EXPECT_THROW(gradient_averagings(-1, 5), ConfigError);
  EXPECT_THROW(gradient_averagings(1, 0), ConfigError);
  EXPECT_THROW(model_averagings(-1, 1), ConfigError);
  EXPECT_THROW(model_averagings(1, 0), ConfigError);
  EXPECT_THROW(averaging_saving(0, 1), ConfigError);
  EXPECT_THROW(averaging_saving(1, 0), ConfigError);
  EXPECT_THROW(averaging_words(-1, 1, 1), ConfigError);
  EXPECT_THROW(averaging_words(1, -1, 1), ConfigError);
  EXPECT_THROW(averaging_words(1, 1, 0), ConfigError);
  EXPECT_THROW(parts_on_gpu(-1, 1, 0), ConfigError);
  EXPECT_THROW(parts_on_gpu(1, 1, 1), ConfigError);
}

}  // namespace
}  // namespace orrery::cost
