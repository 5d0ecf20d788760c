// Streams and events of the library, and that the emulation shows where an event is missing.
#include <gtest/gtest.h>

#include "tests/cuda/table_kernels.hpp"

namespace orrery::testing {
namespace {

class CudaStreams : public ::testing::TestWithParam<CudaLibrary> {
 protected:
  void SetUp() override {
    session_.must(api_.stream_open(session_.device, &other_));
    session_.must(api_.event_open(session_.device, &event_));
    session_.must(api_.event_open(session_.device, &later_));
    void* pinned = nullptr;
    session_.must(api_.allocate_pinned(session_.device, 4, &pinned));
    host_ = static_cast<float*>(pinned);
  }
  void TearDown() override {
    session_.must(api_.release_pinned(session_.device, host_));
    api_.event_close(later_);
    api_.event_close(event_);
    api_.stream_close(other_);
  }
  OrreryMatrix one(float* p) const { return {p, 1, 1, 1, kOrreryF32}; }

  const OrreryCudaApi& api_ = *GetParam().api;
  const CudaSession session_{api_};
  OrreryStream* other_ = nullptr;
  OrreryEvent *event_ = nullptr, *later_ = nullptr;
  float* host_ = nullptr;
  float* x_ = session_.allocate<float>(4);
};

TEST_P(CudaStreams, AStreamThatWaitsForAnEventReadsWhatWasWrittenBeforeIt) {
  for (int i = 1; i <= 20; ++i) {
    session_.must(api_.fill(session_.stream, one(x_), i));
    session_.must(api_.event_record(event_, session_.stream));
    session_.must(api_.stream_wait(other_, event_));
    session_.must(api_.copy_out(other_, host_, x_, 4));
    session_.must(api_.event_record(later_, other_));
    session_.must(api_.event_sync(later_));
    ASSERT_EQ(*host_, static_cast<float>(i));
    session_.must(api_.stream_sync(session_.stream));
  }
}

TEST_P(CudaStreams, AnEventIsDoneSoonerOrLaterAndTellsTheTimeBetweenTwo) {
  session_.must(api_.event_record(event_, session_.stream));
  session_.must(api_.fill(session_.stream, one(x_), 1));
  session_.must(api_.event_record(later_, session_.stream));
  int code = api_.event_done(later_);
  while (code == kOrreryNotReady) code = api_.event_done(later_);
  EXPECT_EQ(code, kOrreryOk);
  double seconds = -1;
  session_.must(api_.event_seconds(event_, later_, &seconds));
  EXPECT_GE(seconds, 0);
  EXPECT_LT(seconds, 10);
}

TEST_P(CudaStreams, ACopyOfPageableMemoryHasReadItWhenItReturns) {
  float host = 3;
  session_.must(api_.copy_in(session_.stream, x_, &host, 4));
  host = 4;
  session_.must(api_.copy_out(session_.stream, host_, x_, 4));
  session_.must(api_.stream_sync(session_.stream));
  EXPECT_EQ(*host_, 3);
}

TEST_P(CudaStreams, ACopyTakesPinnedMemoryForAnOperand) {
  *host_ = 5;
  session_.must(api_.copy(session_.stream, one(host_), one(x_), 2, 0));
  session_.must(api_.copy(session_.stream, one(x_), one(host_), 1, 0));
  session_.must(api_.stream_sync(session_.stream));
  EXPECT_EQ(*host_, 10);
}

INSTANTIATE_TEST_SUITE_P(Libraries, CudaStreams, ::testing::ValuesIn(cuda_libraries()),
                         [](const auto& test) { return test.param.name; });

/// The same on the emulation where nothing runs before something waits.
class CudaLazyStreams : public CudaStreams {
  void SetUp() override {
    emulate_lazily(true);
    CudaStreams::SetUp();
  }
  void TearDown() override {
    CudaStreams::TearDown();
    emulate_lazily(false);
  }
};

TEST_P(CudaLazyStreams, AMissingEventShowsAsAnOldValue) {
  session_.must(api_.fill(session_.stream, one(x_), 1));
  session_.must(api_.stream_sync(session_.stream));
  session_.must(api_.fill(session_.stream, one(x_), 2));
  session_.must(api_.copy_out(other_, host_, x_, 4));
  session_.must(api_.stream_sync(other_));
  EXPECT_EQ(*host_, 1);
}

TEST_P(CudaLazyStreams, AnEventOrdersWorkAndAsksForNoMoreThanCameBeforeIt) {
  session_.must(api_.fill(session_.stream, one(x_), 1));
  session_.must(api_.event_record(event_, session_.stream));
  session_.must(api_.fill(session_.stream, one(x_), 2));
  session_.must(api_.stream_wait(other_, event_));
  session_.must(api_.copy_out(other_, host_, x_, 4));
  session_.must(api_.stream_sync(other_));
  EXPECT_EQ(*host_, 1);
}

TEST_P(CudaLazyStreams, APinnedBufferIsReadWhenTheCopyRuns) {
  *host_ = 1;
  session_.must(api_.copy_in(session_.stream, x_, host_, 4));
  *host_ = 2;  // too early
  session_.must(api_.copy_out(session_.stream, host_, x_, 4));
  session_.must(api_.stream_sync(session_.stream));
  EXPECT_EQ(*host_, 2);
}

TEST_P(CudaLazyStreams, WhoeverPollsAnEventSeesItHappen) {
  session_.must(api_.fill(session_.stream, one(x_), 1));
  session_.must(api_.event_record(event_, session_.stream));
  EXPECT_EQ(api_.event_done(event_), kOrreryNotReady);
  EXPECT_EQ(api_.event_done(event_), kOrreryOk);
}

INSTANTIATE_TEST_SUITE_P(Emulation, CudaLazyStreams, ::testing::Values(emulated_cuda()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace orrery::testing
