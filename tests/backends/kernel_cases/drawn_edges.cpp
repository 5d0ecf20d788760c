// Cases of edges that were drawn between vertices: their numbers, and the transpose of their block.
// Every backend, and the reference beside it, against loops that look at everything.
#include <algorithm>
#include <limits>

#include "backends/reference/reference.hpp"
#include "core/base/index.hpp"
#include "tests/backends/kernel_cases/backend.hpp"
#include "tests/backends/kernel_cases/patterns.hpp"

namespace orrery::testing {
namespace {

std::vector<Runner> with_reference(std::vector<Runner> ways) {
  ways.push_back([](const World& w, const Op& op) { w.run(*make_reference_kernels(), op); });
  return ways;
}

/// `numbered` with its columns renamed to these vertices.
void expect_numbers(const std::vector<Runner>& ways, const Csr& numbered,
                    const std::vector<Vertex>& vertices) {
  for (const Runner& run : with_reference(ways)) {
    World w;
    Csr drawn = numbered;
    for (Vertex& column : drawn.columns) column = vertices[at(column)];
    const Relabel op{w.sparse(drawn), w.integers(vertices),
                     w.poisoned(Relabel::slots(numbered.cols), 1, 0, DType::i32)};
    run(w, op);
    EXPECT_EQ(w.memory().pattern(op.a), numbered) << to_string(Op(op));
  }
}

/// Distinct vertices without an order: those of a list at random steps of an odd number.
std::vector<Vertex> some_vertices(std::int64_t count, std::uint32_t step, std::uint32_t first = 0) {
  std::vector<Vertex> vertices;
  for (std::int64_t i = 0; i < count; ++i)
    vertices.push_back(static_cast<Vertex>((first + static_cast<std::uint32_t>(i) * step) &
                                           std::numeric_limits<Vertex>::max()));
  return vertices;
}

TEST_P(KernelCases, RelabelFindsThePlacesOfVertices) {
  Sequence draw(3, Purpose::edges, 0);
  for (const std::int64_t rows : {1, 7, 300})
    for (const std::int64_t cols : {1, 2, 3, 64, 1000})
      for (const std::uint32_t step : {1U, 0x2545F491U, 0x10001U})
        expect_numbers(ways_, random_pattern(draw, rows, cols, std::min<std::int64_t>(cols, 90)),
                       some_vertices(cols, step, 5));
}

TEST_P(KernelCases, RelabelOfWhatIsHardlyThere) {
  expect_numbers(ways_, pattern_of_lengths({}, 0), {});
  expect_numbers(ways_, pattern_of_lengths({0, 0, 0}, 0), {});
  expect_numbers(ways_, pattern_of_lengths({0, 0}, 3), {9, 4, 7});
  expect_numbers(ways_, pattern_of_lengths({1}, 1), {0});
  const Vertex largest = std::numeric_limits<Vertex>::max();
  expect_numbers(ways_, pattern_of_lengths({1}, 1), {largest});
  expect_numbers(ways_, pattern_of_lengths({3, 2}, 3), {largest, 0, largest - 1});
}

/// All entries name one vertex; rows that name a vertex again and again.
TEST_P(KernelCases, RelabelOfRepeatedVertices) {
  expect_numbers(ways_, pattern_of_lengths({40, 0, 700, 1}, 1), {123456789});
  expect_numbers(ways_, pattern_of_lengths({9, 30, 2}, 4), {8, 1, 1 << 30, 77});
}

/// Vertices whose slots are the same, and the end of the table: all are found by going on from there.
TEST_P(KernelCases, RelabelOfVerticesThatMeetInTheTable) {
  constexpr std::int64_t kCount = 12;
  const int bits = std::countr_zero(static_cast<std::uint64_t>(Relabel::slots(kCount)));
  for (const bool last : {false, true}) {
    const std::uint64_t wanted = last ? (std::uint64_t{1} << bits) - 1 : 3;
    std::vector<Vertex> vertices;
    for (Vertex v = 0; std::ssize(vertices) < kCount; ++v)
      if ((static_cast<std::uint64_t>(v) * 0x9E3779B97F4A7C15U) >> (64 - bits) == wanted)
        vertices.push_back(v);
    expect_numbers(ways_, pattern_of_lengths({5, 12, 3, 12}, kCount), vertices);
  }
}

/// For each column the rows that have it, one after the other: with the values of their entries, and with
/// the numbers of these.
void expect_transpose(const std::vector<Runner>& ways, const Csr& a) {
  Csr want;
  want.rows = a.cols;
  want.cols = a.rows;
  std::vector<std::size_t> entries;
  for (Vertex c = 0; c < a.cols; ++c) {
    for (Vertex r = 0; r < a.rows; ++r)
      for (EdgeIndex e = a.offsets[at(r)]; e < a.offsets[at(r) + 1]; ++e)
        if (a.columns[at(e)] == c) {
          want.columns.push_back(r);
          entries.push_back(at(e));
        }
    want.offsets.push_back(want.nnz());
  }
  for (const Runner& run : with_reference(ways)) {
    World w;
    const Sparse of = w.sparse(a), t = w.room({a.cols, a.rows, a.nnz()});
    const TransposeSparse op{of, w.floats(a.nnz(), 1), t, w.poisoned(a.nnz(), 1)};
    run(w, op);
    EXPECT_EQ(w.memory().pattern(op.t), want) << to_string(Op(op));
    std::vector<float> values;
    for (const std::size_t e : entries) values.push_back(w.data<float>(op.values)[e]);
    EXPECT_EQ(w.values(op.t_values), values) << to_string(Op(op));
    EXPECT_EQ(w.memory().pattern(op.a), a);
  }
  Csr numbers = want;
  numbers.cols = a.nnz();
  std::vector<std::int32_t> order;
  for (std::size_t p = 0; p < entries.size(); ++p)
    order.push_back(numbers.columns[p] = static_cast<Vertex>(entries[p]));
  for (const Runner& run : with_reference(ways)) {
    World w;
    const EntriesByColumn op{w.sparse(a), w.room({a.cols, a.rows, a.nnz()}),
                             w.room({a.cols, a.nnz(), a.nnz()}),
                             w.poisoned(a.nnz(), 1, 0, DType::i32)};
    run(w, op);
    EXPECT_EQ(w.memory().pattern(op.t), want) << to_string(Op(op));
    EXPECT_EQ(w.memory().pattern(op.by_column), numbers) << to_string(Op(op));
    EXPECT_EQ(std::vector<std::int32_t>(w.data<std::int32_t>(op.order),
                                        w.data<std::int32_t>(op.order) + a.nnz()),
              order);
    EXPECT_EQ(w.memory().pattern(op.a), a);
  }
}

TEST_P(KernelCases, TransposeHasTheRowsOfEveryColumnInTheirOrder) {
  Sequence draw(4, Purpose::edges, 0);
  for (const std::int64_t rows : {1, 7, 300})
    for (const std::int64_t cols : {1, 2, 3, 64, 200})
      expect_transpose(ways_, random_pattern(draw, rows, cols, std::min<std::int64_t>(cols, 90)));
}

TEST_P(KernelCases, TransposeOfWhatIsHardlyThere) {
  for (const std::int64_t cols : {0, 1, 5}) expect_transpose(ways_, pattern_of_lengths({}, cols));
  for (const std::int64_t cols : {0, 1, 5})
    expect_transpose(ways_, pattern_of_lengths({0, 0, 0}, cols));
  expect_transpose(ways_, pattern_of_lengths({1}, 1));
  expect_transpose(ways_, pattern_of_lengths({600, 1, 0, 600}, 1));
  expect_transpose(ways_, pattern_of_lengths({9, 30, 2}, 4));
}

}  // namespace
}  // namespace orrery::testing
