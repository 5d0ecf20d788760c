// Whether samples of neighbours, ours or another program's, follow their rule.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/graph/csr.hpp"

namespace orrery {

/// Samples of one layer: in draw `draw[i]`, row `row[i]` aggregates `neighbour[i]`. A row is drawn
/// at most once in a draw, and any number of times over all draws.
///
/// Shapes    [edges drawn] each; any order
struct DrawnNeighbours {
  std::span<const std::int64_t> draw, row, neighbour;
};

struct CheckedRule {
  int fanout = -1;           ///< −1: all neighbours
  bool replacement = false;  ///< else all sets of neighbours have equal probability
};

/// The least likely of several counts.
struct Unlikely {
  std::int64_t tested = 0;  ///< rows, or pairs of neighbours
  double least = 1;         ///< smallest p-value of them, two-sided
  Vertex row = -1;          ///< where it was found
  /// The probability that correct samples have one at least as unlikely (Bonferroni's bound).
  double p() const;
};

struct SampleCheck {
  /// Faults that do not depend on chance, and the first edge, by its place in the input, of each.
  struct Wrong {
    std::int64_t count = 0;
    std::int64_t first = -1;
  };
  std::int64_t draws = 0;  ///< (draw, row) pairs
  std::int64_t rows = 0;   ///< different ones
  Wrong absent;            ///< edges that the graph does not have
  Wrong repeated;          ///< neighbours drawn twice without replacement
  Wrong miscounted;        ///< draws of a row with too few or too many neighbours
  Unlikely each;           ///< result of chi-square tests of each row's neighbours
  /// result of binomial tests of pairs of neighbours, only without replacement
  Unlikely pairs;

  /// Below it samples are rejected.
  static constexpr double kLeast = 1e-4;
  bool is_wrong() const { return absent.count + repeated.count + miscounted.count > 0; }
  bool is_biased() const { return each.p() < kLeast || pairs.p() < kLeast; }
  /// Whether any row was drawn often enough to test its bias, or all neighbours of all rows are
  /// taken and there is nothing to test.
  bool was_tested = false;
};

/// Tests each row separately, so rows may share their random numbers (LABOR does). A row is tested
/// if each neighbour is expected at least five times, and without replacement to be left out as
/// often. Pairs are tested if the row has at most 64 neighbours and each pair is expected five
/// times.
///
/// Cost      sorts the edges; 24 bytes for each
/// Errors    Error: the three arrays differ in length
/// Source    without replacement the sum of squares over the mean has (1 − k/d) · d/(d − 1) times the
///           spread of independent draws
SampleCheck check_samples(const Csr& graph, const DrawnNeighbours& drawn, const CheckedRule& rule);

}  // namespace orrery
