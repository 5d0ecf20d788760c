// Sharing of ego networks, by brute force.
#include "core/inference/sharing/network_sharing.hpp"

#include <gmock/gmock.h>

#include <numeric>
#include <set>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/rng.hpp"
#include "core/sample/neighbour_sampler.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kSharedVertices = 40;

Csr some_graph() {
  Sequence draws(11, Purpose::edges, 0);
  EdgeList list;
  list.vertices = kSharedVertices;
  for (int i = 0; i < 120; ++i) {
    list.source.push_back(static_cast<Vertex>(draws.below(kSharedVertices)));
    list.destination.push_back(static_cast<Vertex>(draws.below(kSharedVertices)));
  }
  return build_csr(list);
}

/// The distinct vertices of each level (0 is the input) that one target, or several, need: step by
/// step from rows of all vertices that were drawn at once.
class BruteForce {
 public:
  BruteForce(const Csr& graph, const std::vector<int>& fanouts, std::uint64_t seed)
      : layers_(static_cast<int>(fanouts.size())) {
    std::vector<Vertex> all(at(graph.rows));
    std::iota(all.begin(), all.end(), 0);
    NeighbourSampler sampler(graph, {fanouts});
    auto scratch = sampler.scratch(graph.rows);
    flow_ = sampler.sample(all, {seed}, scratch);
  }
  std::vector<std::set<Vertex>> levels(const std::vector<Vertex>& targets) const {
    std::vector<std::set<Vertex>> found(at(layers_) + 1);
    found.back().insert(targets.begin(), targets.end());
    for (int level = layers_ - 1; level >= 0; --level) {
      found[at(level)] = found[at(level) + 1];
      for (const Vertex v : found[at(level) + 1])
        for (const Vertex u : flow_.blocks[at(level)].row(v)) found[at(level)].insert(u);
    }
    found.pop_back();
    return found;
  }

 private:
  int layers_;
  MessageFlow flow_;
};

const NetworkSharing::System& named(const NetworkSharing& sharing, const std::string& name) {
  for (const auto& system : sharing.systems)
    if (system.name == name) return system;
  throw Error("no system " + name);
}

TEST(NetworkSharing, IsWhatBruteForceCounts) {
  const Csr graph = some_graph();
  for (const std::vector<int>& fanouts :
       {std::vector<int>{-1, -1}, std::vector<int>{2, 2, 2}, std::vector<int>{3}}) {
    SharingSettings settings;
    settings.fanouts = fanouts;
    settings.merged = 13;
    settings.batch = 4;
    settings.order = "contiguous";
    settings.seed = 5;
    settings.networks = settings.batches = 1000;
    const NetworkSharing found = network_sharing(graph, settings);
    EXPECT_TRUE(found.networks_counted);
    EXPECT_TRUE(found.batches_counted);

    const BruteForce brute(graph, fanouts, 5);
    const auto made_in = [&](std::int64_t size) {
      std::vector<double> sums(fanouts.size(), 0);
      for (std::int64_t first = 0; first < kSharedVertices; first += size) {
        std::vector<Vertex> targets;
        for (std::int64_t v = first; v < std::min(first + size, kSharedVertices); ++v)
          targets.push_back(static_cast<Vertex>(v));
        const auto levels = brute.levels(targets);
        for (std::size_t l = 0; l < sums.size(); ++l)
          sums[l] += static_cast<double>(levels[l].size());
      }
      return sums;
    };
    const auto alone = made_in(1);
    EXPECT_EQ(found.used, alone);
    EXPECT_EQ(named(found, "DGI").made, made_in(13));
    EXPECT_EQ(named(found, "DistDGL").made, made_in(4));
    EXPECT_EQ(named(found, "SALIENT++").made, made_in(4)) << "nothing is kept";
    auto p3 = alone;
    p3[0] = kSharedVertices;
    EXPECT_EQ(named(found, "P3").made, p3);
    EXPECT_DOUBLE_EQ(*found.ratio(found.systems.front()), 1);
    EXPECT_DOUBLE_EQ(*found.ratio(named(found, "P3"), 0), 1);
    if (fanouts.size() > 1) {
      EXPECT_DOUBLE_EQ(*found.mean_ratio(named(found, "P3")),
                       1.0 / static_cast<double>(fanouts.size()));
    }
  }
}

TEST(NetworkSharing, OfOneBatchOfAllIsDeals) {
  const Csr graph = some_graph();
  SharingSettings settings;
  settings.fanouts = {-1, -1};
  settings.merged = kSharedVertices;
  settings.cached = kSharedVertices;
  const NetworkSharing found = network_sharing(graph, settings);
  EXPECT_DOUBLE_EQ(*found.ratio(named(found, "DGI")), 1);
  EXPECT_DOUBLE_EQ(*found.ratio(named(found, "SALIENT++"), 0), 1) << "all rows are kept";
}

/// Larger batches and caches share more; a sample of networks and batches comes near to all.
TEST(NetworkSharing, GrowsWithBatchesAndCaches) {
  const Csr graph = some_graph();
  SharingSettings settings;
  settings.fanouts = {2, 2};
  const auto of = [&](const char* system) {
    const NetworkSharing found = network_sharing(graph, settings);
    return *found.ratio(named(found, system));
  };
  settings.merged = settings.batch = 4;
  const double small = of("DGI"), without = of("SALIENT++");
  settings.merged = 20;
  settings.cached = 20;
  EXPECT_GT(of("DGI"), small);
  EXPECT_GT(of("SALIENT++"), without);
  const double all = of("DGI");
  settings.networks = 30;
  EXPECT_NEAR(of("DGI"), all, 0.1);
}

TEST(NetworkSharing, RefusesWhatItCannotCount) {
  const Csr graph = some_graph();
  SharingSettings settings;
  settings.fanouts = {2};
  settings.order = "by chance";
  EXPECT_THROW(network_sharing(graph, settings), ConfigError);
  settings = {};
  settings.fanouts = {0};
  EXPECT_THROW(network_sharing(graph, settings), ConfigError);
  settings.fanouts = {2};
  settings.merged = 0;
  EXPECT_THROW(network_sharing(graph, settings), ConfigError);
  settings.merged = 1;
  EXPECT_THROW(network_sharing(Csr{}, settings), ConfigError);
}

/// A graph without edges has nothing to share.
TEST(NetworkSharing, OfNothingInCommonIsNoNumber) {
  SharingSettings settings;
  settings.fanouts = {-1};
  const NetworkSharing found = network_sharing(Csr{3, 3, {0, 0, 0, 0}, {}}, settings);
  EXPECT_FALSE(found.ratio(found.systems.back()));
  EXPECT_FALSE(found.mean_ratio(found.systems.back()));
}

}  // namespace
}  // namespace orrery
