// Sampling in graphs whose entries lie beyond 2^31: positions of entries have 64 bits. The columns
// are memory that is mapped and never touched, but for the rows that are drawn from.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <vector>

#include "core/base/index.hpp"
#include "core/sample/neighbour_sampler.hpp"

namespace orrery {
namespace {

/// So many zeros, whose pages take no memory until they are written.
template <class T>
class Mapped {
 public:
  explicit Mapped(std::int64_t count)
      : bytes_(at(count) * sizeof(T)),
        data_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
        count_(at(count)) {}
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() {
    if (*this) munmap(data_, bytes_);
  }
  explicit operator bool() const { return data_ != MAP_FAILED; }
  std::span<T> all() const { return {static_cast<T*>(data_), count_}; }

 private:
  std::size_t bytes_;
  void* data_;
  std::size_t count_;
};

/// Vertex 0 has more than 2^31 in-neighbours; those of the others follow behind them.
class FarEntries : public ::testing::Test {
 protected:
  static constexpr EdgeIndex kFirst = EdgeIndex{3} << 30;
  static constexpr Vertex kVertices = 40;
  static constexpr EdgeIndex kNumber32 = std::numeric_limits<std::int32_t>::max();

  void SetUp() override {
    if (!columns_ || !weights_) GTEST_SKIP() << "20 GiB of addresses are not to be had";
    offsets_ = {0, kFirst};
    for (Vertex v = 1; v < kVertices; ++v) {
      EdgeIndex next = offsets_.back();
      for (const Vertex u : neighbours(v)) {
        columns_.all()[at(next)] = u;
        weights_.all()[at(next++)] = weight(v, u);
      }
      offsets_.push_back(next);
    }
  }

  /// From none up to 12, ascending, with any step from 1 to 3.
  static std::vector<Vertex> neighbours(Vertex v) {
    std::vector<Vertex> of;
    for (Vertex i = 0; i < v % 13; ++i) of.push_back(1 + i * (1 + v % 3));
    return of;
  }
  static float weight(Vertex v, Vertex u) { return static_cast<float>(100 * v + u); }

  CsrView graph() const { return {kVertices, offsets_, columns_.all().first(at(offsets_.back()))}; }
  static std::vector<Vertex> seeds() {
    std::vector<Vertex> all;
    for (Vertex v = kVertices - 1; v > 0; --v) all.push_back(v);
    return all;
  }

  std::vector<EdgeIndex> offsets_;
  Mapped<Vertex> columns_{kFirst + 1000};
  Mapped<float> weights_{kFirst + 1000};
};

TEST_F(FarEntries, AreDrawnByEveryRuleThatReadsOnlyWhatItDraws) {
  for (const NeighbourRule rule :
       {NeighbourRule::uniform, NeighbourRule::replacement, NeighbourRule::labor})
    for (const int fanout : {4, kAllNeighbours}) {
      const NeighbourSampler sampler(graph(), {{fanout}, rule});
      auto scratch = sampler.scratch(kVertices);
      const MessageFlow flow = sampler.sample(seeds(), {7, 1, 2}, scratch, true);
      const Csr& block = flow.blocks[0];
      ASSERT_EQ(block.rows, kVertices - 1);
      std::size_t some = 0;
      for (std::int64_t r = 0; r < block.rows; ++r) {
        const Vertex v = flow.vertices[at(r)];
        const std::vector<Vertex> there = neighbours(v);
        std::vector<Vertex> drawn;
        for (EdgeIndex e = block.offsets[at(r)]; e < block.offsets[at(r) + 1]; ++e) {
          const Vertex u = flow.vertices[at(block.columns[at(e)])];
          const EdgeIndex position = flow.edges[0][at(e)];
          drawn.push_back(u);
          EXPECT_TRUE(std::ranges::binary_search(there, u)) << v << " <- " << u;
          EXPECT_GT(position, kNumber32);
          EXPECT_EQ(weights_.all()[at(position)], weight(v, u));
        }
        std::ranges::sort(drawn);
        const bool repeats = rule == NeighbourRule::replacement && fanout > 0;
        const std::size_t most = fanout > 0 ? 4 : there.size();
        if (fanout < 0 || (there.size() <= most && !repeats)) {
          EXPECT_EQ(drawn, there);
        } else if (!there.empty()) {
          EXPECT_EQ(drawn.size(), most);
          EXPECT_TRUE(repeats || std::ranges::adjacent_find(drawn) == drawn.end());
          ++some;
        }
      }
      EXPECT_TRUE(some > 10 || fanout < 0);
    }
}

TEST_F(FarEntries, OfOneRowAreDrawnOverAllOfIt) {
  for (const NeighbourRule rule : {NeighbourRule::uniform, NeighbourRule::replacement}) {
    const NeighbourSampler sampler(graph(), {{200}, rule});
    auto scratch = sampler.scratch(1);
    const std::vector<Vertex> seed{0};
    const MessageFlow flow = sampler.sample(seed, {7, 1, 2}, scratch, true);
    const std::set<EdgeIndex> positions(flow.edges[0].begin(), flow.edges[0].end());
    EXPECT_EQ(positions.size(), 200U);
    EXPECT_GE(*positions.begin(), 0);
    EXPECT_LT(*positions.rbegin(), kFirst);
    // A third lies beyond, give or take seven deviations of 200 draws.
    const auto beyond = std::ranges::count_if(positions, [](EdgeIndex e) { return e > kNumber32; });
    EXPECT_NEAR(static_cast<double>(beyond), 200.0 / 3, 47);
  }
}

TEST_F(FarEntries, AreLeftOutWhereTheyAreExcludedInOneCopyOfTheGraph) {
  constexpr int kCopies = 3;
  const Vertex v = 12;  // has 1, 2, ..., 12
  const EdgeIndex gone = offsets_[at(v)] + 4;
  const ExcludedEntries excluded({gone * kCopies + 1}, graph().nnz(), kCopies);
  const NeighbourSampler sampler(graph(), {{kAllNeighbours}, NeighbourRule::uniform, kCopies});
  auto scratch = sampler.scratch(kCopies);
  const std::vector<Vertex> seeds{v * kCopies, v * kCopies + 1, v * kCopies + 2};
  const MessageFlow flow = sampler.sample(seeds, {7, 1, 2}, scratch, false, excluded);
  for (int copy = 0; copy < kCopies; ++copy) {
    std::vector<Vertex> drawn, want;
    for (const Vertex c : flow.blocks[0].row(copy)) drawn.push_back(flow.vertices[at(c)]);
    for (const Vertex u : neighbours(v))
      if (copy != 1 || u != columns_.all()[at(gone)]) want.push_back(u * kCopies + copy);
    EXPECT_EQ(drawn, want);
  }
}

}  // namespace
}  // namespace orrery
