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
  double max_volume = 1.0 / 128;  ///< v_max: clusters of less volume grow and give; share of Σd
  double merge_size = 1.0 / 16;   ///< merged clusters have fewer vertices; share of n
  double balance = 1.05;          ///< β: the same as a multiple of n/k
  bool persistent = false;  ///< clusters that cannot follow their representative try other vertices
};

struct LdgOptions {
  double balance = 1.05;  ///< most vertices of a part / mean
};

struct FennelOptions {
  double gamma = 1.5;
  double balance = 1.1;  ///< ν, most vertices of a part / mean
};

}  // namespace orrery
