// Which ranks broadcast their rows of a layer in an epoch, where those that changed little since
// they were last sent are used again.
#pragma once

#include <cstdint>
#include <vector>

#include "core/runtime/buffer.hpp"

namespace orrery {

/// One rank's share in the decision, on which all ranks agree.
///
/// Source    Peng et al. 2022, Sancus: staleness bounded by the variation of embeddings
/// Departs   the variation is relative, and of all of a rank's rows of a layer together
class SkippedBroadcasts {
 public:
  /// `skip_below`: relative change, at least, of rows that are sent again; `oldest`: epochs, at
  /// most, in which they are not.
  SkippedBroadcasts(Runtime& rt, double skip_below, int oldest);

  /// For each rank, whether it sends its rows of `layer` in this epoch: where ‖x − s‖ ≥ skip_below
  /// · ‖s‖ (Frobenius norms; x are its rows, s those that it sent last) or they were used again for
  /// `oldest` epochs in a row; all send the first time. The lanes compute and comm are waited for.
  /// A recording has no values: there all send, always.
  ///
  /// Memory    twice x
  const std::vector<bool>& senders(int layer, const Tensor& x);

 private:
  struct Layer {
    Buffer sent;                  ///< this rank's rows, as it sent them last
    std::vector<int> used_again;  ///< by rank: epochs since then
    std::vector<bool> senders;
  };
  void measure(const Layer& layer, const Tensor& x);
  bool changed(int rank);
  Tensor square(int rank, int which) const;

  Runtime& rt_;
  double skip_below_;
  int oldest_;
  Buffer squares_;  ///< of each rank: ‖x − s‖², ‖s‖²
  std::vector<Layer> layers_;
};

}  // namespace orrery
