// Sums and exchanges on a stream: in order, in place, and longer than one piece.
#include "backends/cuda/cuda_mover.hpp"
#include "core/base/index.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace orrery {
namespace {

/// Device memory with floats.
class Floats {
 public:
  Floats(cuda::CudaDevice& device, const std::vector<float>& values) : device_(device) {
    const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(float));
    at_ = static_cast<float*>(device.take(Space::device, bytes));
    count_ = values.size();
    OrreryStream* stream = nullptr;
    cuda::require(cuda::api().stream_open(device.handle(), &stream), "stream_open");
    const cuda::Handle<OrreryStream> owned(stream, cuda::api().stream_close);
    cuda::require(cuda::api().copy_in(stream, at_, values.data(), bytes), "copy_in");
    cuda::require(cuda::api().stream_sync(stream), "stream_sync");
  }
  ~Floats() { device_.give(Space::device, at_); }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;

  float* at() const { return at_; }
  std::vector<float> values() const {
    std::vector<float> values(count_);
    device_.read(Space::device, values.data(), at_,
                 static_cast<std::int64_t>(count_ * sizeof(float)));
    return values;
  }

 private:
  cuda::CudaDevice& device_;
  float* at_ = nullptr;
  std::size_t count_ = 0;
};

class StreamMoverTest : public ::testing::Test {
 protected:
  StreamMoverTest() : device_(options()) {
    OrreryStream* stream = nullptr;
    cuda::require(cuda::api().stream_open(device_.handle(), &stream), "stream_open");
    stream_.reset(stream);
  }
  static cuda::CudaDevice::Options options() {
    cuda::CudaDevice::Options options;
    options.gpu = cuda::choose_gpu(0, 1);
    options.device_bytes = std::int64_t{128} << 20;
    return options;
  }

  cuda::CudaDevice device_;
  cuda::Handle<OrreryStream> stream_{nullptr, cuda::api().stream_close};
};

TEST_F(StreamMoverTest, SumsInTheOrderOfTheRanksAlsoIntoOneOfTheOperands) {
  // 2^24 + 1 + 1 is 2^24 in this order, and 2^24 + 2 in another.
  const Floats a(device_, {16777216, 1}), b(device_, {1, 2}), c(device_, {1, 4});
  cuda::StreamMover mover(device_, stream_.get());

  const std::vector<const void*> parts{a.at(), b.at(), c.at()};
  mover.sum(DType::f32, parts, b.at(), 2);
  mover.settle();

  EXPECT_EQ(b.values(), (std::vector<float>{16777216, 7}));
  EXPECT_EQ(a.values(), (std::vector<float>{16777216, 1}));
  EXPECT_EQ(c.values(), (std::vector<float>{1, 4}));
}

TEST_F(StreamMoverTest, SumsAndExchangesWhatIsLongerThanAPiece) {
  std::vector<float> x(2'500'001), y(x.size()), sum(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i % 1000);
    y[i] = static_cast<float>(i % 77);
    sum[i] = x[i] + y[i];
  }
  const Floats a(device_, x), b(device_, y), total(device_, x);
  cuda::StreamMover mover(device_, stream_.get());

  const std::vector<const void*> parts{a.at(), b.at()};
  mover.sum(DType::f32, parts, total.at(), static_cast<std::int64_t>(x.size()));
  mover.swap(a.at(), b.at(), static_cast<std::int64_t>(x.size() * sizeof(float)));
  mover.settle();

  EXPECT_EQ(total.values(), sum);
  EXPECT_EQ(a.values(), y);
  EXPECT_EQ(b.values(), x);
}

}  // namespace
}  // namespace orrery
