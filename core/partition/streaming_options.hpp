// What the papers of the streaming partitioners leave to their users.
#pragma once

namespace orrery {

struct PowergraphOptions {
  double balance = 1.05;  ///< most edges of a part / mean
};

struct HdrfOptions {
  double lambda = 1.1;    ///< weight of balance; the order of edges decides below 1
  double balance = 1.05;  ///< most edges of a part / mean
};

struct TwoPsLOptions {
  double max_volume = 1;  ///< of a cluster, in units of Σd/k = 2|E|/k
  double balance = 1.05;  ///< most edges of a part / mean
};

struct SpringOptions {
  /// v_max: clusters of less volume grow and give, in units of a part's share Σd/k.
  double max_volume = 0.105;
  double balance = 1.05;  ///< β: merged clusters have fewer vertices than β·n/k; refined parts too
  bool persistent = false;  ///< clusters that cannot follow their representative try other vertices
  int refine = 0;           ///< rounds of refinement: refine.hpp
};

struct LdgOptions {
  double balance = 1.05;  ///< most vertices of a part / mean
};

struct FennelOptions {
  double gamma = 1.5;    ///< γ: exponent of what a part's size costs
  double balance = 1.1;  ///< ν, most vertices of a part / mean
};

}  // namespace orrery
