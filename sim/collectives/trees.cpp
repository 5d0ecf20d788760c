#include "sim/collectives/trees.hpp"

#include <algorithm>

#include "core/base/index.hpp"

namespace orrery::sim {
namespace {

int entry(const std::vector<int>& list, int i) { return list[at(i)]; }

}  // namespace

Tree flat_tree(int ranks, int root) {
  Tree tree;
  for (int i = 1; i < ranks; ++i) tree.push_back({root, (root + i) % ranks});
  return tree;
}

Tree chain(const std::vector<int>& members) {
  Tree tree;
  tree.reserve(members.size());
  for (std::size_t i = 1; i < members.size(); ++i) tree.push_back({members[i - 1], members[i]});
  return tree;
}

void extend_along(Tree& tree, const Ring& ring, int first) {
  auto at = std::find(ring.begin(), ring.end(), first);
  for (std::size_t i = 1; i < ring.size(); ++i) {
    const int from = *at++;
    if (at == ring.end()) at = ring.begin();
    tree.push_back({from, *at});
  }
}

Tree binomial_tree(const std::vector<int>& members) {
  Tree tree;
  for (int v = 1; v < static_cast<int>(members.size()); ++v)
    tree.push_back({entry(members, v & (v - 1)), entry(members, v)});
  return tree;
}

Tree binary_tree(const std::vector<int>& members, bool other) {
  const int n = static_cast<int>(members.size());
  const auto member = [&](int v) {
    if (!other) return entry(members, v);
    return entry(members, n % 2 == 0 ? n - 1 - v : (v + 1) % n);
  };
  int top = 1;
  while (top < n) top *= 2;
  Tree tree;
  for (int bit = top / 2; bit > 0; bit /= 2)
    for (int v = bit; v < n; v += 2 * bit) {
      const int above = (v ^ bit) | (2 * bit);
      tree.push_back({member(above < n ? above : v ^ bit), member(v)});
    }
  return tree;
}

Tree server_tree(const Layout& layout, int channel, int root, const std::vector<int>& heads,
                 bool chained) {
  const int home = entry(layout.server_of, root), servers = layout.server_count();
  std::vector<int> order;
  for (int k = 0; k < servers; ++k) order.push_back(entry(heads, (home + k) % servers));
  Tree tree;
  tree.reserve(static_cast<std::size_t>(layout.ranks));
  extend_along(tree, layout.ring_of(home, channel), root);
  const Tree across = chained ? chain(order) : binomial_tree(order);
  tree.insert(tree.end(), across.begin(), across.end());
  for (int k = 1; k < servers; ++k) {
    const int server = (home + k) % servers;
    extend_along(tree, layout.ring_of(server, channel), entry(heads, server));
  }
  return tree;
}

}  // namespace orrery::sim
