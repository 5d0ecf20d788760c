// Runs of calls that come again and again, launched as CUDA graphs.
#pragma once

#include <list>
#include <vector>

#include "backends/cuda/library_call.hpp"

namespace orrery::cuda {

/// The graphs of one stream. A run is issued call by call when it comes for the first time, so that
/// the library prepares what it needs; captured when it comes for the second time, and launched as
/// one from then on. What comes only once costs no capture.
class Graphs {
 public:
  explicit Graphs(OrreryStream* stream) : stream_(stream) {}

  /// Launches the run as a graph; false where it has to be issued call by call.
  ///
  /// Errors    as require()
  bool launch(const std::vector<LibraryCall>& run);

 private:
  struct Known {
    std::vector<LibraryCall> run;
    Handle<OrreryGraph> graph{nullptr, nullptr};
  };
  /// The one that equals the run, now the first of the list; null where there is none.
  Known* find(const std::vector<LibraryCall>& run);
  void capture(Known& known);

  OrreryStream* stream_;
  std::list<Known> known_;  ///< the one that was used last comes first
};

}  // namespace orrery::cuda
