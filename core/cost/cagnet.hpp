// CAGNET: what one process receives for one product A·H, and in an epoch, under 1D, 1.5D, 2D and 3D
// partitionings.
#pragma once

namespace orrery::cost {

/// What each process does in a step, averaged over the processes.
struct Traffic {
  double words = 0;     ///< received; a word is one number, also one stored entry of A
  double messages = 0;  ///< one after the other; lg q for a broadcast by tree among q processes
};

/// A product A·H.
struct Product {
  double vertices = 0;  ///< n, rows of H
  double width = 0;     ///< f, columns of H
  double nonzeros = 0;  ///< of A; used where A moves (2D, 3D)
};

/// Time of the traffic.
///
///   T = α · messages + β · words
///
/// Units     seconds; α: seconds per message, β: seconds per word
/// Errors    ConfigError if α or β is negative
/// Source    CAGNET (Tripathy, Yelick, Buluç; SC 2020), its α-β model
double traffic_seconds(const Traffic& traffic, double seconds_per_message, double seconds_per_word);

/// 1D, every block row of H broadcast to all.
///
///   words = n·f·(P − 1)/P        messages = P · lg P
///
/// There are P blocks of n/P rows; a process receives all but its own.
///
/// Errors    ConfigError if n or f is not positive or P < 1
/// Source    CAGNET, 1D, derived here
/// Departs   the paper rounds the words to n·f
Traffic spmm_1d_traffic(const Product& product, double processes);

/// 1D, a row sent only to those that have an edge to it, and once.
///
///   words = r·f        messages = P − 1
///
/// Units     remote_rows r: distinct rows of other processes that one needs, on average or the most
/// Requires  0 <= r <= n, none if P = 1; all n·(P − 1)/P of them give the words of spmm_1d_traffic
/// Errors    ConfigError if that fails, n or f is not positive or P < 1
/// Source    CAGNET, 1D with the edge cut; its sparsity-aware branch
Traffic spmm_1d_sparse_traffic(const Product& product, double remote_rows, double processes);

/// 1.5D on a grid of P/c rows and c columns; the c processes of a grid row hold the same n·c/P rows
/// of H.
///
///   words    = n·f/c − n·f/P + 2·(c − 1)·n·f/P
///   messages = P/c² · lg(P/c) + 2·(c − 1)
///
/// A grid column broadcasts P/c² of the P/c blocks in itself: n·f/c words, but every c-th process
/// owns one of its column's, n·c/P·f words. Then the c partial sums of n·c/P rows are added in a
/// ring: each process receives 2·(c − 1)/c of them.
///
/// Requires  1 <= c, c² <= P
/// Errors    ConfigError if that fails, n or f is not positive or P < 1
/// Source    CAGNET, 1.5D, derived here after its code (gcn_distr_15d.py)
/// Departs   means: the process that receives most (c > 1) owns none of its column's blocks and
///           receives n·f/P more. P and c may be any real numbers, to draw curves; a run needs
///           whole blocks.
Traffic spmm_15d_traffic(const Product& product, double processes, double copies);

/// The number of copies with the least traffic under 1.5D.
///
///   c = √(P/2), from d/dc (n·f/c + 2·c·n·f/P) = 0;  at least 1
///
/// Units     a real number; a run takes a divisor near it
/// Errors    ConfigError if P < 1
/// Source    CAGNET, 1.5D
double best_replication(double processes);

/// 2D on a grid of √P × √P (SUMMA): A along grid rows, H along grid columns.
///
///   words = (√P − 1)·(nnz + n·f)/P        messages = 2·√P·lg √P
///
/// Each of √P stages broadcasts a block of A (nnz/P entries) and one of H (n·f/P); a process
/// receives √P − 1 of each.
///
/// Requires  P a square; entries of A spread evenly
/// Errors    ConfigError if P is not, n, f or nnz is not positive or P < 1
/// Source    CAGNET, 2D, derived here
/// Departs   the paper rounds to nnz/√P + n·f/√P. An entry counts one word as there, though its
///           position moves with it.
Traffic spmm_2d_traffic(const Product& product, double processes);

/// The product H·W that follows in 2D: blocks of H broadcast along grid rows, W is everywhere.
///
///   words = (√P − 1)·n·f/P        messages = √P·lg √P
///
/// Errors    as spmm_2d_traffic, without nnz
/// Source    CAGNET, 2D, derived here; the paper rounds to n·f/√P
Traffic gemm_2d_traffic(const Product& product, double processes);

/// 3D on a cube of side q = ∛P: a SUMMA in each of q layers, then the layers' partial sums added.
///
///   words = (q − 1)·(nnz + 2·n·f)/P        messages = 2·q·lg q + q − 1
///
/// A layer has q stages with blocks of nnz/P entries of A and n·f/P words of H, of which a process
/// receives q − 1 each. It then holds a partial block of n/q rows by f/q columns; a reduce-scatter
/// over the q layers gives it q − 1 pieces of n·f/(q²·q) = n·f/P words.
///
/// Requires  P a cube; entries of A spread evenly
/// Errors    ConfigError if P is not, n, f or nnz is not positive or P < 1
/// Source    CAGNET, 3D (split), derived here
/// Departs   the paper rounds to (nnz + 2·n·f)/P^(2/3); with the exchange for H·W it has 3·n·f
Traffic spmm_3d_traffic(const Product& product, double processes);

/// Words of the largest dense block of a process: its part of H, in 3D its partial result.
///
///   1D, 2D: n·f/P;   1.5D: c·n·f/P;   3D: n·f/P^(2/3)
///
/// Errors    ConfigError if n or f is not positive, P < 1, c < 1 or c² > P
/// Source    CAGNET; the 3D one is P^(1/3) times the 1D one
double held_words_1d(const Product& product, double processes);
double held_words_15d(const Product& product, double processes, double copies);
double held_words_3d(const Product& product, double processes);

/// One epoch of L layers of equal width under 1D.
///
///   words = L·(cut·f + n·f + f²)        messages = L·3·lg P
///
/// Forward fetches the cut, backward reduces n·f words, f² is the gradient of W.
///
/// Units     edge_cut: rows of other processes that the process with most of them needs
/// Errors    ConfigError if L < 1, edge_cut is negative, n or f is not positive or P < 1
/// Source    CAGNET, total for 1D, quoted without the paper at hand: verify before citing
/// Departs   one process communicates nothing, where the rounded total would not be zero
Traffic epoch_1d_traffic(const Product& product, double layers, double edge_cut, double processes);

/// One epoch of L layers of equal width under 1.5D: the product forward, the product backward, and
/// the gradient of W added over P/c processes, in a ring.
///
///   L · ( 2·spmm_15d_traffic + { words: 2·f²·(q − 1)/q, messages: 2·(q − 1) } ),   q = P/c
///
/// Errors    ConfigError if L < 1 or as spmm_15d_traffic
/// Source    derived here after CAGNET's code: forward and backward call the same routine
Traffic epoch_15d_traffic(const Product& product, double layers, double processes, double copies);

/// One epoch of L layers of equal width under 2D.
///
///   words = L·( (8·n·f + 2·nnz)/√P + f² )        messages = L·( 5·√P + 3·lg P )
///
/// Requires  P a square
/// Errors    ConfigError if P is not, L < 1, n, f or nnz is not positive or P < 1
/// Source    CAGNET, total for 2D, quoted without the paper at hand: verify before citing
/// Departs   one process communicates nothing
Traffic epoch_2d_traffic(const Product& product, double layers, double processes);

/// One epoch of L layers of equal width under 3D.
///
///   words = L·(2·nnz + 12·n·f)/P^(2/3)        messages = L·4·P^(1/3)
///
/// Requires  P a cube
/// Errors    ConfigError if P is not, L < 1, n, f or nnz is not positive or P < 1
/// Source    CAGNET, total for 3D, quoted without the paper at hand: verify before citing
/// Departs   one process communicates nothing
Traffic epoch_3d_traffic(const Product& product, double layers, double processes);

}  // namespace orrery::cost
