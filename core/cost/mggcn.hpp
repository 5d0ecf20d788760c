// MG-GCN: time to communicate for one product A·H under 1D and 1.5D from the links between the
// GPUs, overlap of broadcasts with products, and the buffers.
#pragma once

#include <span>
#include <vector>

namespace orrery::cost {

/// The links between the GPUs of one server: point to point, or all to one non-blocking switch.
struct Links {
  int gpus = 0;
  std::vector<double> between;       ///< [gpus][gpus] number of links, symmetric; or empty
  double to_switch = 0;              ///< links of each GPU to the switch when `between` is empty
  double link_bytes_per_second = 0;  ///< l: one link, in one direction
};

/// The eight V100 of a DGX-1: two links 0-3 0-4 1-2 1-5 2-3 4-7 5-6 6-7, one link 0-1 0-2 1-3 2-6
/// 3-7 4-5 4-6 5-7; six for each GPU.
///
/// Source    the matrix that nvidia-smi prints (NCCL issue 671)
Links dgx1_links(double link_bytes_per_second);

/// The DGX-1 of MG-GCN section 5.1: every GPU has four links into its half {0,1,2,3} or {4,5,6,7}
/// and two to its partner i ± 4. That is the real one with a link of 2-3 moved to 2-6, and one of
/// 6-7 to 3-7.
///
/// Source    MG-GCN section 5.1
Links dgx1_links_as_assumed(double link_bytes_per_second);

/// GPUs on one switch; a DGX-A100 has 8 with 12 links each.
///
/// Errors    ConfigError if there are no GPUs or no links
Links switched_links(int gpus, double links_per_gpu, double link_bytes_per_second);

/// The number of links at whose rate any member of the group can send the same bytes to all others.
///
///   links = min over the ways to cut the group in two of the links across the cut;
///   links of one GPU to the switch, if there is one
///
/// A byte must cross every cut once, and the bound is reached by sending parts of it along
/// different trees (Edmonds 1973), so it does not depend on the sender. No GPU outside the group
/// relays.
///
/// Units     links; infinite for a group of one, 0 if the group is not connected
/// Requires  distinct GPUs
/// Errors    ConfigError if the matrix is not a symmetric one of links, or the group not of its
///           GPUs
/// Source    MG-GCN section 5.1 counts the links of one GPU into its group: 6, 4 and 2 on a DGX-1
/// Departs   the least cut, which is never more and sees groups that fall apart
double broadcast_links(const Links& links, std::span<const int> group);

/// Communication of one product under 1D: each GPU broadcasts its tile to all.
///
///   T = P · (n·d/P) / (broadcast_links(all) · l) = n·d/(6·l) on a DGX-1, n·d/(12·l) on a DGX-A100
///
/// Units     seconds; matrix_bytes = n·d·bytes_per_element
/// Errors    ConfigError as broadcast_links, or if some GPU cannot be reached
/// Source    MG-GCN section 5.1
/// Departs   one GPU sends nothing, so it takes no time
double spmm_1d_seconds(const Links& links, double matrix_bytes);

/// Communication of one product under 1.5D with c = groups.size() copies of H.
///
///   T = P/c² · (n·d·c/P) / (B · l)  +  (2·(c − 1)/c) · (n·d·c/P) / (R · l)
///
/// Each group holds all of H, its member i tile i of P/c, and broadcasts P/c² tiles in itself while
/// the others broadcast theirs; then the members i of all groups add up their tile. B is the least
/// broadcast_links of the groups, R that of the c members i, over all i. For c = 2 on the DGX-1 as
/// assumed 2·nd/(4·4l) + nd/(4·2l) = nd/4l, on a DGX-A100 nd/16l.
///
/// Units     seconds; matrix_bytes = n·d·bytes_per_element, of one copy
/// Requires  groups of equal size that hold every GPU once; c² divides P
/// Errors    ConfigError if that fails, as broadcast_links, or if some GPU cannot be reached
/// Source    MG-GCN section 5.1, for c = 2
/// Departs   other c: the last step is a ring all-reduce, 2(c − 1)/c tiles per member. The real
///           DGX-1 matrix has one link for 2-6 and 3-7, so the paper's halves give nd/8l + nd/4l =
///           3nd/8l, not nd/4l, and no other two groups give less.
double spmm_15d_seconds(const Links& links, double matrix_bytes,
                        const std::vector<std::vector<int>>& groups);

/// One product in P stages, each a broadcast and then a product, one after the other.
///
///   T = Σ b_i + Σ s_i
///
/// Units     seconds
/// Errors    ConfigError if the lists differ in length, are empty or hold a negative time
/// Source    MG-GCN section 4.3 (what overlap is compared with)
double serial_seconds(std::span<const double> broadcast, std::span<const double> product);

/// The same, while the next broadcast runs beside the product, into the other of two buffers.
///
///   T = b_0 + Σ_{i=1}^{P−1} max(b_i, s_{i−1}) + s_{P−1}
///
/// Broadcast i waits for the broadcast before it (same stream) and for product i − 2 (same buffer).
/// Product i − 1 waits for broadcast i − 1 and for the product before it (same stream). These are
/// the same two, so both start together and the formula is exact.
///
/// Units     seconds
/// Errors    ConfigError if the lists differ in length, are empty or hold a negative time
/// Source    MG-GCN section 4.3, in words; the formula is ours
double overlapped_seconds(std::span<const double> broadcast, std::span<const double> product);

/// The factor by which a memory-bound product slows down while a broadcast uses the memory, too.
///
///   factor = 1 / (1 − link rate / memory rate);  150 and 900 GB/s: a sixth is gone, 1.2 times
///
/// Units     dimensionless
/// Requires  link rate < memory rate; the link's bytes touch memory once (a relay reads and writes)
/// Errors    ConfigError if that fails or a rate is not positive
/// Source    MG-GCN section 6.4
double overlap_slowdown(double link_bytes_per_second, double memory_bytes_per_second);

/// Memory of one GPU for the buffers shared by the layers, as the paper counts them.
///
///   (L + 3) · (n/P) · d · bytes_per_element
///
/// Units     bytes; d is the mean width
/// Errors    ConfigError if a count is under 1 or a size is not positive
/// Source    MG-GCN section 4.2
double buffer_bytes(double layers, double vertices, double gpus, double width,
                    double bytes_per_element);

/// The same from the widths: the three shared buffers hold the narrower side of the widest layer,
/// each layer's own buffer its wider side.
///
///   (n/P) · ( 3 · max_l min(d_{l−1}, d_l) + Σ_l max(d_{l−1}, d_l) ) · bytes_per_element
///
/// Units     bytes; widths d_0 ... d_L
/// Errors    ConfigError if there is no layer, a count is under 1 or a size is not positive
/// Source    the published code of MG-GCN
/// Departs   from the paper's mean width; equal when all widths are
double buffer_bytes(std::span<const double> widths, double vertices, double gpus,
                    double bytes_per_element);

}  // namespace orrery::cost
