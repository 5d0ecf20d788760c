// Repeated runs of calls, launched as CUDA graphs.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "backends/cuda/library_call.hpp"

namespace orrery::cuda {

/// The graphs of one stream. A run is issued call by call the first time, so that the library
/// prepares what it needs. It is captured the second time, and launched as one from then on. A run
/// that comes only once costs no capture.
class Graphs {
 public:
  explicit Graphs(OrreryStream* stream) : stream_(stream) {}

  /// Launches the run as a graph; false if it must be issued call by call.
  ///
  /// Errors    as require()
  bool launch(const std::vector<LibraryCall>& run);

 private:
  struct Known {
    std::vector<LibraryCall> run;
    Handle<OrreryGraph> graph{nullptr, nullptr};
    std::int64_t last_used = 0;  ///< a number of launch()
  };
  /// The one that equals the run; null if there is none.
  Known* find(const std::vector<LibraryCall>& run, std::size_t hash);
  void remember(const std::vector<LibraryCall>& run, std::size_t hash);
  void capture(Known& known);

  OrreryStream* stream_;
  std::unordered_multimap<std::size_t, Known> known_;  ///< by hash of the run
  std::int64_t launches_ = 0;
};

}  // namespace orrery::cuda
