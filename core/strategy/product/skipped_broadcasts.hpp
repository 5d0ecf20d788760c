// Which ranks broadcast their rows of a layer in an epoch. Rows that changed little since they were
// last sent are used again.
#pragma once

#include <cstdint>
#include <vector>

#include "core/runtime/buffer.hpp"

namespace orrery {

/// One rank's share in the decision, on which all ranks agree.
///
/// Placement x, s: rows of this rank; their norms: on every rank
/// Source    Peng et al. 2022, Sancus: staleness bounded by the variation of embeddings
/// Departs   the variation is relative, and over all of a rank's rows of a layer together
class SkippedBroadcasts {
 public:
  /// `skip_below`: rows are sent again after at least this relative change; `oldest`: the most
  /// epochs in which they are not sent.
  SkippedBroadcasts(Runtime& rt, double skip_below, int oldest);

  /// For each rank, whether it sends its rows of `layer` in this epoch. It does if ‖x − s‖ ≥
  /// skip_below · ‖s‖ (Frobenius norms; x are its rows, s those that it sent last), or if they were
  /// used again for `oldest` epochs in a row. All send the first time. Waits for the lanes compute
  /// and comm. A recording has no values: there all ranks always send.
  ///
  /// Memory    twice x
  const std::vector<bool>& senders(int layer, const Tensor& x);

 private:
  struct Layer {
    Buffer sent;                  ///< this rank's rows, as last sent
    std::vector<int> used_again;  ///< by rank: epochs since the last sending
    std::vector<bool> senders;
  };
  void measure(const Layer& layer, const Tensor& x);
  bool changed(int rank);
  Tensor square(int rank, int which) const;

  Runtime& rt_;
  double skip_below_;
  int oldest_;
  Buffer squares_;  ///< for each rank: ‖x − s‖², ‖s‖²
  std::vector<Layer> layers_;
};

}  // namespace orrery
