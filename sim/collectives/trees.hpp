// Trees over the members of a group, along which data is broadcast or added up.
#pragma once

#include <vector>

#include "sim/collectives/layout.hpp"

namespace orrery::sim {

/// From a member to one below it.
struct Edge {
  int from, to;
};

/// A tree from the root down: each member comes before those below it.
using Tree = std::vector<Edge>;

/// The root sends to all others.
Tree flat_tree(int ranks, int root);

/// Each sends to the next one.
Tree chain(const std::vector<int>& members);

/// Adds the chain around a ring that begins with a member of the tree.
void extend_along(Tree& tree, const Ring& ring, int first);

/// Place v of `members` receives from v with its lowest bit cleared, and sends to v + each smaller
/// power of two.
Tree binomial_tree(const std::vector<int>& members);

/// One of two binary trees over `members`. The inner members of one are leaves of the other; with
/// an odd number, one member may be inner in both.
///
/// Source    NCCL src/graph/trees.cc, ncclGetDtree
Tree binary_tree(const std::vector<int>& members, bool other);

/// From the root to one member of each other server, along a chain or binomial tree; then along
/// rings inside the servers. `heads` [server]: the member of each server; in the root's server it
/// forwards.
Tree server_tree(const Layout& layout, int channel, int root, const std::vector<int>& heads,
                 bool chained);

}  // namespace orrery::sim
