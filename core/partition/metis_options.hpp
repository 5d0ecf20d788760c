// What METIS is told.
#pragma once

#include <vector>

#include "core/partition/vertex_weights.hpp"

namespace orrery {

struct MetisOptions {
  bool volume = false;  ///< least communication volume instead of least cut
  int servers = 1;      ///< first into so many parts, then each of them into parts/servers
  std::vector<Constraint> constraints{Constraint::work};
  double balance = 1.03;  ///< most of a constraint in a part / mean; METIS' own default
};

}  // namespace orrery
