// Shape rules, FLOPs, bytes and printing of the op vocabulary, by hand.
#include "core/ops/ops.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/base/error.hpp"

namespace orrery {
namespace {

Tensor matrix(std::uint32_t id, std::int64_t rows, std::int64_t cols, DType dtype = DType::f32) {
  return {id, {rows, cols}, dtype, Space::device, 0, cols};
}
std::shared_ptr<const std::vector<std::int64_t>> counts(std::vector<std::int64_t> list) {
  return std::make_shared<const std::vector<std::int64_t>>(std::move(list));
}

TEST(Window, RowsColumnsAndReshapeAddressTheSameElements) {
  const Tensor t = matrix(3, 10, 8);

  const Tensor w = t.rows_at(2, 5).cols_at(3, 4);

  EXPECT_EQ(w.offset, 2 * 8 + 3);
  EXPECT_EQ(w.ld, 8);
  EXPECT_EQ(to_string(w), "t3[5x4 +19 /8]");
  EXPECT_EQ(to_string(t.reshaped({4, 20})), "t3[4x20]");
}

/// Brute force: two windows overlap when they share a position.
TEST(Window, OverlapEqualsComparingEveryElement) {
  const Tensor whole = matrix(1, 6, 7);
  std::vector<Tensor> windows;
  for (std::int64_t r = 0; r < 6; r += 2)
    for (std::int64_t c = 0; c < 7; c += 3)
      for (std::int64_t h = 0; h + r <= 6; h += 3)
        for (std::int64_t w = 0; w + c <= 7; w += 2)
          windows.push_back(whole.rows_at(r, h).cols_at(c, w));
  const auto positions = [](const Tensor& t) {
    std::map<std::int64_t, int> set;
    for (std::int64_t i = 0; i < t.rows(); ++i)
      for (std::int64_t j = 0; j < t.cols(); ++j) set[t.offset + i * t.ld + j] = 1;
    return set;
  };

  for (const Tensor& a : windows)
    for (const Tensor& b : windows) {
      const auto in_a = positions(a);
      bool shared = false;
      for (const auto& [p, one] : positions(b)) shared = shared || in_a.contains(p);
      EXPECT_EQ(overlap(a, b), shared) << to_string(a) << " " << to_string(b);
    }
  EXPECT_FALSE(overlap(whole, matrix(2, 6, 7)));
}

TEST(SpMM, CountsAndPrints) {
  const SpMM op{{0, {5, 6}, 9}, matrix(1, 9, 1), matrix(2, 6, 4), matrix(3, 5, 4), 0};

  validate(op);

  EXPECT_EQ(flops_of(op), 2 * 9 * 4);
  EXPECT_EQ(bytes_of(op), 9 * 4 + 5 * 8 + 9 * 4 + 6 * 4 * 4 + 5 * 4 * 4);
  EXPECT_EQ(to_string(Op(op)), "spmm a=s0[5x6 nnz 9] x=t2[6x4] y>t3[5x4] values=t1[9x1] beta=0");
  SpMM added = op;
  added.beta = 1;
  EXPECT_EQ(bytes_of(added), bytes_of(op) + 5 * 4 * 4) << "y is read too";
}

TEST(SpMM, CountsAndPrintsItsHeads) {
  const SpMM op{{0, {5, 6}, 9}, matrix(1, 9, 3), matrix(2, 6, 12), matrix(3, 5, 12), 0};

  validate(op);

  EXPECT_EQ(op.heads(), 3);
  EXPECT_EQ(flops_of(op), 2 * 9 * 12);
  EXPECT_EQ(bytes_of(op), 9 * 4 + 5 * 8 + 9 * 3 * 4 + 6 * 12 * 4 + 5 * 12 * 4);
  EXPECT_EQ(to_string(Op(op)),
            "spmm a=s0[5x6 nnz 9] x=t2[6x12] y>t3[5x12] values=t1[9x3] beta=0 heads=3");
}

TEST(SpMM, RefusesHeadsThatDoNotDivideTheWidthAndSaysBoth) {
  SpMM op{{0, {5, 6}, 9}, matrix(1, 9, 3), matrix(2, 6, 16), matrix(3, 5, 16), 0};
  try {
    validate(op);
    FAIL() << "accepted";
  } catch (const ShapeError& error) {
    EXPECT_NE(std::string(error.what()).find("found 3 heads and 16 columns"), std::string::npos)
        << error.what();
  }
  op.values = matrix(1, 9, 0);
  EXPECT_THROW(validate(op), ShapeError) << "no heads";
  op.values = matrix(1, 9, 4).cols_at(0, 2);
  EXPECT_THROW(validate(op), ShapeError) << "values of two of four heads are not contiguous";
}

TEST(EdgeOps, CountWhatTheyReadAndWrite) {
  const Sparse a{0, {5, 6}, 9};
  const Sddmm dots{a, matrix(1, 5, 12), matrix(2, 6, 12), matrix(3, 9, 3)};
  const EndScores ends{matrix(4, 5, 3), matrix(5, 6, 3)};
  const EdgeSoftmax softmax{a, matrix(3, 9, 3), ends};
  const EdgeSoftmax of_scores{a, matrix(3, 9, 3), {}, 0.5F};
  const EdgeSoftmaxBackward backward{a, matrix(3, 9, 3), matrix(6, 9, 3), ends, matrix(7, 5, 3)};

  for (const Op& op : {Op(dots), Op(softmax), Op(of_scores), Op(backward)}) validate(op);

  constexpr int kPattern = 9 * 4 + 5 * 8, kWeights = 9 * 3 * 4, kEnds = (5 + 6) * 3 * 4;
  EXPECT_EQ(flops_of(dots), 2 * 9 * 12);
  EXPECT_EQ(bytes_of(dots), kPattern + (5 + 6) * 12 * 4 + kWeights);
  EXPECT_EQ(bytes_of(softmax), kPattern + kWeights + kEnds);
  EXPECT_EQ(bytes_of(of_scores), 5 * 8 + 2 * kWeights) << "no column numbers";
  EXPECT_EQ(bytes_of(backward), kPattern + 3 * kWeights + kEnds + 5 * 3 * 4);
  EXPECT_EQ(to_string(Op(dots)),
            "sddmm a=s0[5x6 nnz 9] x=t1[5x12] z=t2[6x12] dots>t3[9x3] heads=3");
  EXPECT_EQ(to_string(Op(backward)),
            "edge_softmax_backward a=s0[5x6 nnz 9] weights=t3[9x3] gradient*t6[9x3] left=t4[5x3] "
            "right=t5[6x3] dleft>t7[5x3] slope=0.2");
}

TEST(EdgeOps, RefuseExtentsThatDoNotFit) {
  const Sparse a{0, {5, 6}, 9};
  const EndScores ends{matrix(4, 5, 3), matrix(5, 6, 3)};
  const auto refused = [](const Op& op) {
    EXPECT_THROW(validate(op), ShapeError) << to_string(op);
  };

  refused(Sddmm{a, matrix(1, 6, 12), matrix(2, 6, 12), matrix(3, 9, 3)});
  refused(Sddmm{a, matrix(1, 5, 12), matrix(2, 5, 12), matrix(3, 9, 3)});
  refused(Sddmm{a, matrix(1, 5, 12), matrix(2, 6, 9), matrix(3, 9, 3)});
  refused(Sddmm{a, matrix(1, 5, 10), matrix(2, 6, 10), matrix(3, 9, 3)});
  refused(Sddmm{a, matrix(1, 5, 12), matrix(2, 6, 12), matrix(3, 8, 3)});
  refused(EdgeSoftmax{a, matrix(3, 8, 3), {}});
  refused(EdgeSoftmax{a, matrix(3, 9, 2), ends});
  refused(EdgeSoftmax{a, matrix(3, 9, 3), ends, 2});
  refused(EdgeSoftmax{a, matrix(3, 9, 3), EndScores{matrix(4, 5, 3), matrix(5, 6, 3), 1.5F}});
  refused(EdgeSoftmax{a, matrix(3, 9, 3),
                      EndScores{matrix(4, 5, 3), matrix(5, 6, 3), 0.2F, matrix(6, 8, 3)}});
  refused(EdgeSoftmaxBackward{a, matrix(3, 9, 3), matrix(6, 9, 3), ends, {}});
  refused(EdgeSoftmaxBackward{a, matrix(3, 9, 3), matrix(6, 9, 3), {}, matrix(7, 5, 3)});
  refused(EdgeSoftmaxBackward{a, matrix(3, 9, 3), matrix(6, 8, 3), {}, {}});
}

TEST(SpMM, RefusesExtentsThatDoNotFitAndAliases) {
  SpMM op{{0, {5, 6}, 9}, matrix(1, 9, 1), matrix(2, 6, 4), matrix(3, 5, 4), 0};
  op.x = matrix(2, 5, 4);
  EXPECT_THROW(validate(op), ShapeError);
  op.x = matrix(2, 6, 3);
  EXPECT_THROW(validate(op), ShapeError);
  op.x = matrix(3, 6, 4);
  EXPECT_THROW(validate(op), ShapeError) << "x overlaps y";
  op.x = matrix(2, 6, 4);
  op.values = matrix(1, 8, 1);
  EXPECT_THROW(validate(op), ShapeError);
}

TEST(Gemm, TransposesChangeTheInnerExtent) {
  const Gemm product{matrix(1, 7, 3), matrix(2, 3, 5), matrix(3, 7, 5)};
  const Gemm gradient{matrix(1, 7, 3), matrix(3, 7, 5), matrix(2, 3, 5), true, false, 0};
  const Gemm adjoint{matrix(3, 7, 5), matrix(2, 3, 5), matrix(1, 7, 3), false, true, 0};

  for (const Gemm& op : {product, gradient, adjoint}) {
    validate(op);
    EXPECT_EQ(flops_of(op), 2 * 7 * 3 * 5);
    EXPECT_EQ(bytes_of(op), 4 * (7 * 3 + 3 * 5 + 7 * 5));
  }
  EXPECT_THROW(validate(Gemm{matrix(1, 7, 3), matrix(2, 4, 5), matrix(3, 7, 5)}), ShapeError);
}

TEST(GatherRows, MakesHalvesFloatsAndCountsTheBytesOfEach) {
  const auto gather = [](DType from, DType to) {
    return GatherRows{matrix(1, 7, 3, from), matrix(2, 4, 1, DType::i32), matrix(3, 4, 3, to)};
  };
  const Op halves = gather(DType::f16, DType::f32), floats = gather(DType::f32, DType::f32);
  validate(halves);
  validate(floats);
  EXPECT_EQ(bytes_of(halves), 4 * 3 * (2 + 4) + 4 * 4);
  EXPECT_EQ(bytes_of(floats), 4 * 3 * (4 + 4) + 4 * 4);
  EXPECT_THROW(validate(gather(DType::f32, DType::f16)), ShapeError);
  EXPECT_THROW(validate(gather(DType::f16, DType::f16)), ShapeError);
  EXPECT_THROW(validate(gather(DType::f64, DType::f64)), ShapeError);
}

/// Six entries, three columns: a table of 8 slots (32 bytes), 3 vertices read twice and written once, and
/// of each entry its column, a slot and a vertex read, and the column written.
TEST(Relabel, CountsItsTableAndItsLookUps) {
  EXPECT_EQ(Relabel::slots(0), 2);
  EXPECT_EQ(Relabel::slots(3), 8);
  EXPECT_EQ(Relabel::slots(4), 16);
  const Sparse a{7, {4, 3}, 6};
  Relabel op{a, matrix(1, 3, 1, DType::i32), matrix(2, 8, 1, DType::i32)};
  validate(op);
  EXPECT_EQ(bytes_of(op), 32 + 3 * 12 + 6 * 16);
  EXPECT_EQ(to_string(Op(op)), "relabel a*s7[4x3 nnz 6] vertices=t1[3x1 i32] table>t2[8x1 i32]");
  op.table = matrix(2, 4, 1, DType::i32);
  EXPECT_THROW(validate(op), ShapeError);
  op = {a, matrix(1, 4, 1, DType::i32), matrix(2, 8, 1, DType::i32)};
  EXPECT_THROW(validate(op), ShapeError);
}

TEST(TransposeSparse, CountsAndPrintsBothPatterns) {
  const Sparse a{7, {4, 3}, 6}, t{8, {3, 4}, 6};
  TransposeSparse op{a, matrix(1, 6, 1), t, matrix(2, 6, 1)};
  validate(op);
  EXPECT_EQ(bytes_of(op), 6 * (3 * 8 + 12) + 8 * 4);
  EXPECT_EQ(to_string(Op(op)),
            "transpose_sparse a=s7[4x3 nnz 6] t>s8[3x4 nnz 6] values=t1[6x1] t_values>t2[6x1]");
  op.t.nnz = 5;
  EXPECT_THROW(validate(op), ShapeError);
  op.t = a;
  EXPECT_THROW(validate(op), ShapeError);
}

TEST(EntriesByColumn, CountsAndPrintsItsThreePatterns) {
  const Sparse a{7, {4, 3}, 6}, t{8, {3, 4}, 6}, by_column{9, {3, 6}, 6};
  const EntriesByColumn op{a, t, by_column, matrix(1, 6, 1, DType::i32)};
  validate(op);
  EXPECT_EQ(bytes_of(op), 6 * (3 * 8 + 12) + 2 * 8 * 4);
  EXPECT_EQ(to_string(Op(op)),
            "entries_by_column a=s7[4x3 nnz 6] t>s8[3x4 nnz 6] by_column>s9[3x6 nnz 6] "
            "order>t1[6x1 i32]");
  EXPECT_THROW(validate(EntriesByColumn{a, a, by_column, op.order}), ShapeError);
  EXPECT_THROW(validate(EntriesByColumn{a, t, t, op.order}), ShapeError);
  EXPECT_THROW(validate(EntriesByColumn{a, t, {9, {3, 5}, 6}, op.order}), ShapeError);
  EXPECT_THROW(validate(EntriesByColumn{a, t, by_column, matrix(1, 6, 1)}), ShapeError);
}

TEST(ShapeError, ShowsTheOperands) {
  try {
    validate(GatherRows{matrix(1, 7, 3), matrix(2, 4, 1, DType::i32), matrix(3, 5, 3)});
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(),
                 "gather_rows: index must be [rows of y, 1] i32, in: gather_rows x=t1[7x3] "
                 "index=t2[4x1 i32] y>t3[5x3]");
  }
}

/// Received by rank 1 of 4 (ranks 0..3), by peer.
std::map<int, double> received(const Op& op, int rank = 1) {
  std::map<int, double> by_peer;
  received_bytes(op, rank, [&](int peer, double bytes) { by_peer[peer] += bytes; });
  return by_peer;
}

TEST(Volume, OfEachCollectiveIsWhatItsDefinitionMoves) {
  const Group all = world_group(4);
  using Map = std::map<int, double>;
  EXPECT_EQ(received(Broadcast{matrix(1, 3, 2), 2, all}), (Map{{2, 24}}));
  EXPECT_EQ(received(Broadcast{matrix(1, 3, 2), 1, all}), Map{}) << "the root receives nothing";
  EXPECT_EQ(received(AllReduce{matrix(1, 1, 8), all}), (Map{{0, 16}, {2, 16}, {3, 16}}))
      << "2(p-1)/p of 32 bytes";
  EXPECT_EQ(received(ReduceScatter{matrix(1, 10, 2), matrix(2, 2, 2), counts({1, 2, 3, 4}), all}),
            (Map{{0, 16}, {2, 16}, {3, 16}}));
  EXPECT_EQ(received(AllGather{matrix(1, 2, 2), matrix(2, 10, 2), counts({1, 2, 3, 4}), all}),
            (Map{{0, 8}, {2, 24}, {3, 32}}));
  EXPECT_EQ(received(AllToAllV{matrix(1, 4, 2), matrix(2, 6, 2), counts({1, 1, 1, 1}),
                               counts({1, 2, 3, 0}), all}),
            (Map{{0, 8}, {2, 24}}));
  EXPECT_EQ(received(SendRecv{matrix(1, 1, 2), matrix(2, 1, 2), 2, 0, all}), (Map{{0, 8}}));
  EXPECT_EQ(received(Reduce{matrix(1, 3, 2), 1, all}), (Map{{0, 24}, {2, 24}, {3, 24}}))
      << "the root receives from each";
  EXPECT_EQ(received(Reduce{matrix(1, 3, 2), 0, all}), Map{}) << "the others send";
  EXPECT_EQ(received(BroadcastSparse{{0, {3, 9}, 5}, matrix(1, 5, 1), 3, all}),
            (Map{{3, 4 * 8 + 5 * 4 + 5 * 4}}))
      << "offsets, columns, values";
  EXPECT_EQ(received(Fill{matrix(1, 1, 1), 0}), Map{});
}

TEST(Volume, PeersOfASubgroupAreNamedByRank) {
  const Group odd{1, 1, 2, 2};  // ranks 1 and 3

  EXPECT_EQ(received(Broadcast{matrix(1, 1, 1), 1, odd}), (std::map<int, double>{{3, 4}}));
  EXPECT_EQ(to_string(odd), "ranks 1,3");
  EXPECT_EQ(to_string(Group{1, 1, 3, 2}), "ranks 1,3,..,5");
}

Tensor on_host(std::uint32_t id, std::int64_t rows, std::int64_t cols, DType type = DType::f32) {
  Tensor t = matrix(id, rows, cols, type);
  t.space = Space::host;
  return t;
}

/// Four ranks; of six rows one lies with rank 0, two with rank 1, three with rank 3.
const Store kStore{3, world_group(4)};
const Pull kPull{kStore, on_host(1, 6, 1, DType::i32), counts({1, 2, 0, 3}), on_host(2, 6, 5)};
const Push kPush{kStore, on_host(1, 6, 1, DType::i32), counts({1, 2, 0, 3}), on_host(2, 6, 5)};

std::map<int, double> served(const Op& op, int rank) {
  std::map<int, double> by_owner;
  served_bytes(op, rank, [&](int owner, double bytes) { by_owner[owner] += bytes; });
  return by_owner;
}

TEST(Volume, APullBringsRowsAndItsOwnersGetRowNumbers) {
  using Map = std::map<int, double>;
  EXPECT_EQ(received(kPull, 1), (Map{{0, 20}, {3, 60}}));
  EXPECT_EQ(received(kPull, 2), (Map{{0, 20}, {1, 40}, {3, 60}}));
  EXPECT_EQ(served(kPull, 1), (Map{{0, 4}, {3, 12}}));
  EXPECT_EQ(bytes_of(kPull), 6 * (4 + 20));
}

TEST(Volume, APushBringsNothingAndItsOwnersGetRowNumbersAndRows) {
  using Map = std::map<int, double>;
  EXPECT_EQ(received(kPush, 1), Map{});
  EXPECT_EQ(served(kPush, 1), (Map{{0, 4 + 20}, {3, 3 * (4 + 20)}}));
  EXPECT_EQ(flops_of(kPush), 30);
}

TEST(Volume, OpeningAndClosingAStoreMovesNoRows) {
  for (const Op& op :
       {Op(Expose{kStore, on_host(1, 7, 5)}), Op(Withdraw{kStore, on_host(1, 7, 5)})}) {
    EXPECT_EQ(received(op), (std::map<int, double>{}));
    EXPECT_EQ(served(op, 1), (std::map<int, double>{}));
  }
}

TEST(OneSided, IsOfItsStoresGroupAndNoCollective) {
  const Group two{9, 1, 2, 2};
  for (const Op& op : {Op(kPull), Op(kPush)}) {
    EXPECT_EQ(group_of(op), kStore.group);
    EXPECT_FALSE(is_collective(op));
    EXPECT_EQ(group_of(in_group(op, two)), two);
  }
  EXPECT_TRUE(is_collective(Expose{kStore, on_host(1, 7, 5)}));
  EXPECT_FALSE(is_collective(Fill{matrix(1, 1, 1), 0}));
  const Store own{0, world_group(1)};
  EXPECT_FALSE(moves_nothing(Expose{own, on_host(1, 7, 5)})) << "it opens the store";
  EXPECT_TRUE(moves_nothing(AllReduce{matrix(1, 7, 5), own.group}));
  EXPECT_EQ(to_string(Op(kPull)),
            "pull index=t1[6x1 i32] y>t2[6x5] rows=[1, 2, 0, 3] store 3 of ranks 0..3");
  Pull spread = kPull;
  spread.y = on_host(2, 9, 5);
  spread.places = on_host(4, 6, 1, DType::i32);
  EXPECT_EQ(
      to_string(Op(spread)),
      "pull index=t1[6x1 i32] y*t2[9x5] places=t4[6x1 i32] rows=[1, 2, 0, 3] store 3 of ranks "
      "0..3");
  EXPECT_EQ(bytes_of(spread), 6 * (4 + 4 + 20));
}

TEST(OneSided, RefusesRequestsThatDoNotAddUp) {
  validate(kPull);
  validate(kPush);
  const auto refuses = [](const Op& op, const std::string& words) {
    try {
      validate(op);
      ADD_FAILURE() << to_string(op);
    } catch (const ShapeError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  for (const auto& rows : {counts({1, 2, 3}), counts({1, 2, 0, 0, 3})}) {
    Pull absent_owner = kPull;
    absent_owner.rows_per_owner = rows;
    refuses(absent_owner, "one number per rank of the store's group");
  }
  Pull other = kPull;
  other.rows_per_owner = counts({1, 2, -1, 4});
  refuses(other, "must not be negative");
  other.rows_per_owner = counts({1, 2, 0, 4});
  refuses(other, "index must be [sum of rows_per_owner, 1] i32");
  other = kPull;
  other.y = on_host(2, 5, 5);
  refuses(other, "y must have a row per index");
  other.places = on_host(4, 6, 1, DType::i32);
  validate(other);
  other.places = on_host(4, 5, 1, DType::i32);
  refuses(other, "places must be [sum of rows_per_owner, 1] i32");
  other = kPull;
  other.y = matrix(2, 6, 5);
  refuses(other, "y must be in memory that the host reaches");
  Push integers = kPush;
  integers.x.dtype = DType::i32;
  refuses(integers, "what is added is f32");
  refuses(Expose{kStore, matrix(1, 7, 5)}, "rows must be in memory that the host reaches");
  refuses(Expose{kStore, on_host(1, 7, 5, DType::f64)}, "rows of a store are f32, f16 or i32");
  refuses(Withdraw{kStore, on_host(1, 7, 0)}, "rows of a store have a column at least");
  for (const Space space : {Space::host, Space::pinned_host, Space::server_host}) {
    Tensor rows = matrix(1, 7, 5);
    rows.space = space;
    validate(Expose{kStore, rows});
  }
}

TEST(BroadcastSparse, RefusesValuesOfAnotherNumber) {
  validate(BroadcastSparse{{0, {3, 9}, 5}, matrix(1, 5, 1), 0, world_group(2)});
  EXPECT_THROW(validate(BroadcastSparse{{0, {3, 9}, 4}, matrix(1, 5, 1), 0, world_group(2)}),
               ShapeError);
  EXPECT_THROW(validate(BroadcastSparse{{0, {3, 9}, 5}, matrix(1, 5, 1), 2, world_group(2)}),
               ShapeError);
}

TEST(Loss, RefusesLabelsOfTheOtherKindAndOtherCountsOfWeights) {
  Loss op{LossKind::softmax,
          matrix(1, 6, 3),
          matrix(2, 6, 1, DType::i32),
          matrix(3, 2, 1, DType::i32),
          matrix(1, 6, 3),
          matrix(4, 1, 1, DType::f64),
          0.5};
  validate(op);
  op.loss_kind = LossKind::sigmoid;
  EXPECT_THROW(validate(op), ShapeError);
  op.labels = matrix(2, 6, 3, DType::i32);
  validate(op);
  op.target_weights = matrix(5, 2, 1);
  validate(op);
  op.target_weights = matrix(5, 3, 1);
  EXPECT_THROW(validate(op), ShapeError) << "one weight too many";
}

}  // namespace
}  // namespace orrery
