// Whether samples of neighbours, ours or another program's, are what their rule says.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/graph/csr.hpp"

namespace orrery {

/// Samples of one layer: in draw `draw[i]`, row `row[i]` aggregates `neighbour[i]`. A row is drawn
/// at most once in a draw, as often as one likes over all draws.
///
/// Shapes    [edges drawn] each; any order
struct DrawnNeighbours {
  std::span<const std::int64_t> draw, row, neighbour;
};

struct CheckedRule {
  int fanout = -1;           ///< −1: all neighbours
  bool replacement = false;  ///< else each set of neighbours is equally likely
};

/// How unlikely the most unlikely of several counts is.
struct Unlikely {
  std::int64_t tested = 0;  ///< rows, or pairs of neighbours
  double least = 1;         ///< smallest p-value of them, two-sided
  Vertex row = -1;          ///< where it was found
  /// The probability that right samples have one as unlikely as that (Bonferroni's bound).
  double p() const;
};

struct SampleCheck {
  /// What is wrong however the dice fall, and the first edge, by its place in the input, of each.
  struct Wrong {
    std::int64_t count = 0;
    std::int64_t first = -1;
  };
  std::int64_t draws = 0;  ///< (draw, row) pairs
  std::int64_t rows = 0;   ///< different ones
  Wrong absent;            ///< edges that the graph does not have
  Wrong repeated;          ///< neighbours drawn twice without replacement
  Wrong miscounted;        ///< draws of a row with too few or too many neighbours
  Unlikely each;           ///< of chi-square tests of each row's neighbours
  Unlikely pairs;          ///< of binomial tests of pairs of neighbours, without replacement only

  /// Below it samples are not believed.
  static constexpr double kLeast = 1e-4;
  bool is_wrong() const { return absent.count + repeated.count + miscounted.count > 0; }
  bool is_biased() const { return each.p() < kLeast || pairs.p() < kLeast; }
  /// Whether any row was drawn often enough to say something about its bias, or all neighbours of
  /// all rows are taken so that there is nothing to say.
  bool was_tested = false;
};

/// Tests each row for itself, so that rows may share their random numbers (LABOR does). A row is
/// tested where each neighbour is expected at least five times, and without replacement to be left out
/// as often; pairs are, where the row has at most 64 neighbours and each pair is expected five times.
///
/// Cost      sorts the edges; 24 bytes for each
/// Errors    Error: the three arrays differ in length
/// Source    without replacement the sum of squares over the mean has (1 − k/d) · d/(d − 1) times the
///           spread of independent draws
SampleCheck check_samples(const Csr& graph, const DrawnNeighbours& drawn, const CheckedRule& rule);

}  // namespace orrery
