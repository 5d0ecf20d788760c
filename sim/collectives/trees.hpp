// Trees over the members of a group, along which data is broadcast or added up.
#pragma once

#include <vector>

#include "sim/collectives/layout.hpp"

namespace orrery::sim {

/// From a member to one below it.
struct Edge {
  int from, to;
};

/// A tree from the root down: each member occurs before those below it.
using Tree = std::vector<Edge>;

/// The root to all others.
Tree flat_tree(int ranks, int root);

/// Each to the next one.
Tree chain(const std::vector<int>& members);

/// Adds the chain around a ring that begins with a member of the tree.
void extend_along(Tree& tree, const Ring& ring, int first);

/// Place v of `members` gets from v with its lowest bit cleared, and gives to v + each smaller
/// power of two.
Tree binomial_tree(const std::vector<int>& members);

/// One of two binary trees over `members` such that the inner members of the one are leaves of the
/// other; if their number is odd, one may be inner in both.
///
/// Source    NCCL src/graph/trees.cc, ncclGetDtree
Tree binary_tree(const std::vector<int>& members, bool other);

/// Root to one member of each other server, along a chain or binomial tree; then along rings inside
/// the servers. `heads` [server]: the member of each server; that of the root's server forwards.
Tree server_tree(const Layout& layout, int channel, int root, const std::vector<int>& heads,
                 bool chained);

}  // namespace orrery::sim
