// Follows the data of a collective from message to message: what each rank may hold at the end if
// messages do no more than their dependencies demand.
#pragma once

#include <string>

#include "sim/collectives/expansion.hpp"

namespace orrery::sim::test {

/// Empty if every rank gets exactly what the collective promises; else what is wrong.
///
/// A piece at a rank is a set of contributions. A message carries what arrivals that it depends on
/// have made of its pieces; every other arrival of those pieces must depend on it. Adding counts no
/// contribution twice, replacing loses none.
std::string wrong_data(const Expansion& e, const CollectiveShape& shape);

}  // namespace orrery::sim::test
