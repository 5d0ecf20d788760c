// What an experiment file says under "links", as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery {

/// How the rows x_u, x_v of two vertices become the score of a pair.
///   dot       Σ_c x_u[c]·x_v[c]
///   distmult  Σ_c r[c]·x_u[c]·x_v[c], r learned (Yang et al. 2015, of one relation)
///   mlp       w·relu((x_u ∘ x_v)·W + b) + c, all learned (OGB's link predictor)
enum class Decoder : std::uint8_t { dot, distmult, mlp };

/// cross_entropy: of every pair by itself; margin: max(0, margin − s⁺ + s⁻) of every negative and
/// the link that it belongs to.
enum class PairLoss : std::uint8_t { cross_entropy, margin };

/// Where the other end of a pair that is no link comes from.
///   uniform   any vertex, drawn for each pair
///   joint     any vertex, drawn once for all links of a batch
///   in_batch  the other ends of the links that follow in the batch
///   local     any vertex of the rank's own part, drawn for each pair
enum class NegativesFrom : std::uint8_t { uniform, joint, in_batch, local };

/// Which ends of a link a negative replaces.
enum class Corrupted : std::uint8_t { destination, both };

/// What the model must not aggregate, in either direction: of the links that are trained on none, those
/// that a batch is to predict, or all.
enum class ExcludedLinks : std::uint8_t { none, batch, training };

struct LinkConfig {
  /// Of typed data: the relation whose edges are the links (Relation::text()); empty: all edges are.
  std::string relation{};
  std::int64_t width = 16;  ///< of the rows that pairs are scored by: the model's last layer
  Decoder decoder = Decoder::dot;
  std::int64_t decoder_hidden = 16;  ///< mlp
  PairLoss loss = PairLoss::cross_entropy;
  double margin = 1;
  NegativesFrom negatives = NegativesFrom::uniform;
  int negatives_per_link = 1;
  Corrupted corrupted = Corrupted::destination;  ///< uniform alone may replace both
  ExcludedLinks exclude = ExcludedLinks::none;

  double validation = 0.05, test = 0.1;  ///< shares of the links that are held out
  int held_out_negatives = 100;          ///< of each of them
  Corrupted held_out_corrupted = Corrupted::destination;
  std::vector<int> hits{1, 10};  ///< the k of Hits@k
};

}  // namespace orrery
