// Whether tests of terminals can be run.
#pragma once

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

namespace orrery::testing {

/// A test of what is written to terminals, skipped where none can be opened: without /dev/pts.
template <class Base = ::testing::Test>
class OnTerminals : public Base {
 protected:
  void SetUp() override {
    int ours = -1, theirs = -1;
    if (::openpty(&ours, &theirs, nullptr, nullptr, nullptr) != 0)
      GTEST_SKIP() << "no terminal can be opened here (is there a /dev/pts?)";
    ::close(ours);
    ::close(theirs);
  }
};

}  // namespace orrery::testing
