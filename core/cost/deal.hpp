// Deal: what one machine receives and holds for H·W, A·H and A ∘ (H·Hᵀ) when the graph is cut by
// rows and each part's features by columns.
//
// Setting of all: N nodes in P parts of N/P rows. The D features of a part lie on M machines, D/M
// columns each, and each of the M holds the part's rows of A. So P·M machines, each with N/P rows
// by D/M columns of H. The text at hand lost the formulas of Tables 1 to 3; those here are derived,
// and may round differently.
#pragma once

namespace orrery::cost {

struct DealSetting {
  double nodes = 0;                ///< N
  double width = 0;                ///< D, of H
  double nonzeros_per_column = 0;  ///< Z, of A on average; not used by H·W
  double row_parts = 1;            ///< P
  double feature_parts = 1;        ///< M
};

/// H·W in CAGNET's way: every machine makes a partial result of all columns, and the M machines of
/// a part add them up.
///
///   received = (M − 1)·N·D'/(P·M)
///   held     = N·D'/P
///
/// A tile of D/M columns times the D/M rows of W that fit gives N/P rows of all D' columns, a
/// partial sum that each machine holds. A machine keeps D'/M of these columns, N/P rows each, and
/// receives their partial sums from M − 1 others. The text: from N·D/(P·M) to N·D/P entries.
///
/// Units     words; out_width D'; held: the intermediate result
/// Errors    ConfigError if N, D or D' is not positive, P < 1 or M < 1
/// Source    Deal Table 1, row "SOTA", derived
double gemm_reduce_received_words(const DealSetting& setting, double out_width);
double gemm_reduce_held_words(const DealSetting& setting, double out_width);

/// H·W in Deal's way: the M machines turn columns into rows, multiply whole rows, and turn back.
///
///   received = (M − 1)·N·(D + D')/(P·M²)
///   held     = N·D'/(P·M)
///
/// A tile falls into M blocks of N/(P·M) rows by D/M columns. A machine keeps one and receives the
/// other M − 1 of its rows: (M − 1)·N·D/(P·M²) words. It multiplies them as they arrive, so it
/// holds its N/(P·M) rows of D' columns; the way back is the same with D'. For D' = D that is 2/M
/// of what the reduction receives and 1/M of what it holds: for M = 2 the same volume.
///
/// Units     words; held: the intermediate result
/// Errors    ConfigError if N, D or D' is not positive, P < 1 or M < 1
/// Source    Deal Table 1, row "Ours", derived
double gemm_rotate_received_words(const DealSetting& setting, double out_width);
double gemm_rotate_held_words(const DealSetting& setting, double out_width);

/// Share of the columns of A that have an entry in the rows of one of `parts` equal parts.
///
///   u = 1 − (1 − 1/parts)^Z
///
/// Each of the Z entries of a column misses the part with probability 1 − 1/parts. At most 1, and
/// at most Z/parts for Z >= 1. It is concave in Z, so columns of unequal length need less than
/// this.
///
/// Units     dimensionless
/// Requires  entries that fall on rows at random (a random permutation; no locality)
/// Errors    ConfigError if Z is negative or parts < 1
/// Source    derived; Deal has "unique columns" without the number
double needed_share(double nonzeros_per_column, double parts);

/// What one machine receives for A·H, by kind.
struct SpmmWords {
  double graph = 0;     ///< column numbers, entries of A
  double features = 0;  ///< rows of H
  double partials = 0;  ///< partial results to add up
  double total() const { return graph + features + partials; }
};

/// A·H in Deal's way: a machine asks the machines with the same columns of H for the rows that it
/// needs.
///
///   graph    = (P − 1)·(N/P)·u
///   features = (P − 1)·(N/P)·u·D/M,   u = needed_share(Z, P)
///
/// Each of P − 1 other parts owns N/P rows of H, of which this part's rows of A touch the share u.
/// The machine asks for their numbers and is asked for as many, and receives D/M columns of them.
///
/// Units     words; a column number counts one
/// Requires  entries that fall on rows at random
/// Errors    ConfigError if N or D is not positive, Z is negative, P < 1 or M < 1
/// Source    Deal Table 2, row "Ours", derived; the example of Figure 8 sends each number once
/// Departs   the text speaks of received non-zeros "which contain" unique columns: its first term
///           may count every entry. Table 2 has "-" for memory.
SpmmWords spmm_fetch_words(const DealSetting& setting);

/// A·H with the graph sent to the features: each tile of A goes to the owner of its columns'
/// features, and a partial result comes back.
///
///   graph    = 2·(P − 1)·N·Z/P²
///   partials = (P − 1)·(N/P)·D/M
///
/// A part owns the features of N/P columns with N·Z/P entries, (P − 1)/P of them in other parts'
/// rows: it receives these, a number and an edge feature each. For its own N/P rows it gets back a
/// partial result from each other part.
///
/// Units     words
/// Requires  as spmm_fetch_words; 2·Z/P >= u for P > 1, so this never receives less
/// Errors    ConfigError as spmm_fetch_words
/// Source    Deal Table 2, row "Exchange G", derived; "size comparable to that of the tile" is read
///           as: partial results are sent whole
SpmmWords spmm_exchange_words(const DealSetting& setting);

/// A·H with A cut into P × M tiles and partial results added over M machines.
///
///   graph    = N·u·(1 − 1/(P·M))
///   features = (N·D/M)·u·(1 − 1/(P·M)),   u = needed_share(Z, P)
///   partials = (M − 1)·N·D/(P·M)
///
/// The tile of a machine has N/M columns, of which the share u is needed, all D features of each.
/// On average the machine itself holds 1/(P·M) of these. The number of a row is sent to each of the
/// M machines that hold a piece of it. Then a machine keeps D/M columns of its N/P rows, for which
/// it receives the partial sums of M − 1 others.
///
/// Units     words
/// Requires  as spmm_fetch_words
/// Errors    ConfigError as spmm_fetch_words
/// Source    Deal Table 2, row "2D-based SPMM", derived from Figure 9's description
SpmmWords spmm_2d_words(const DealSetting& setting);

/// What a machine that computes given rows of A ∘ (H·Hᵀ) must receive of H.
///
///   remote·D + (local + rows)·(D − D/M)
///
/// `remote` distinct nodes of other parts come with all D features; of the `local` distinct sources
/// and the `rows` destinations in its own part it has D/M features each.
///
/// Units     words; counts of distinct nodes
/// Errors    ConfigError if a count is negative, D is not positive or M < 1
/// Source    Deal section 3.4, the example of Figure 10: 3, 3 and 4 nodes, D = 4, M = 2 -> 26
double sddmm_input_words(double remote, double local, double rows, double width,
                         double feature_parts);

/// What one machine receives for A ∘ (H·Hᵀ), by kind.
struct SddmmWords {
  double features = 0;  ///< rows of H
  double results = 0;   ///< entries computed by others
  double total() const { return features + results; }
};

/// Approach (i): each of the M machines of a part computes all of the part's entries.
///
///   features = sddmm_input_words((P − 1)·(N/P)·u, (N/P)·u, N/P, D, M)
///   u        = needed_share(Z, P)
///
/// Units     words
/// Requires  entries that fall on rows at random
/// Errors    ConfigError if N or D is not positive, Z is negative, P < 1 or M < 1
/// Source    Deal Table 3, row "Approach (i)", derived. Table 3 has "-" for memory.
SddmmWords sddmm_duplicate_words(const DealSetting& setting);

/// Approach (ii), Deal's: each of the M machines computes the entries of N/(P·M) of the part's rows
/// and receives the others' results.
///
///   features = sddmm_input_words((P − 1)·(N/P)·u, (N/P)·u, N/(P·M), D, M)
///   u        = needed_share(Z, P·M)
///   results  = (M − 1)/M · N·Z/P
///
/// The part has N·Z/P entries, 1/M of them computed here. For M = 1 this is approach (i).
///
/// Units     words; an entry of the result counts one
/// Requires  entries that fall on rows at random
/// Errors    ConfigError as sddmm_duplicate_words
/// Source    Deal Table 3, row "Approach (ii)", derived
SddmmWords sddmm_split_words(const DealSetting& setting);

}  // namespace orrery::cost
