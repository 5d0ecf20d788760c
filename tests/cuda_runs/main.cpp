// On the emulated library, lazily: work runs only when something waits for it, and of other streams
// no more than events ask for, so that an order that nobody asked for is not there. On a GPU where
// ORRERY_CUDA_LIBRARY names the library.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/cuda/library.hpp"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (std::getenv("ORRERY_CUDA_LIBRARY") == nullptr) {
    ::setenv("ORRERY_CUDA_LIBRARY", ORRERY_EMULATED_LIBRARY, 1);
    // Guards poison new memory; the emulated library would run all that waits in order to do it.
    ::setenv("ORRERY_CUDA_POISON", "0", 1);
    orrery::testing::emulate_lazily(true);
  }
  return RUN_ALL_TESTS();
}
