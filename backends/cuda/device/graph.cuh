// Work of one stream that is captured once and launched as one from then on.
#pragma once

#include <memory>

#include "backends/cuda/device/device.cuh"

struct OrreryGraph {
  /// From now on the stream records what it is asked for, until end().
  OrreryGraph(OrreryStream& s, std::int32_t words);
  ~OrreryGraph();
  OrreryGraph(const OrreryGraph&) = delete;
  OrreryGraph& operator=(const OrreryGraph&) = delete;

  /// On the device: numbers that vary from launch to launch.
  const std::uint32_t* words() const { return words_.as<std::uint32_t>(); }
  /// Errors    Failure: something that the stream was asked for cannot be captured
  void end();
  /// Shapes    values [words]
  void launch(const std::uint32_t* values);

  OrreryDevice& device;

 private:
  OrreryStream& stream_;
  std::int32_t count_;
  orrery::cuda::Beside words_;
  std::shared_ptr<orrery::cuda::Beside> scratch_;  ///< that its kernels work in
  cudaGraphExec_t launchable_ = nullptr;
  bool captures_ = false;
};
