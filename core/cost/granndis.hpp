// GraNNDis: epoch time of full-graph training over servers, with and without preloading what lies
// on other servers, and memory with sampled dependencies.
#pragma once

namespace orrery::cost {

/// The setting of Eq. 3 to 8. One vertex is one row of features, of the same width in every layer;
/// rates are of one GPU (a server's link is already divided by its GPUs).
struct GranndisRun {
  double vertices = 0;                      ///< V
  double edges = 0;                         ///< E = D·V, D the average degree
  double servers = 1;                       ///< Ns
  double gpus_per_server = 1;               ///< Ng
  double compute_vertices_per_second = 0;   ///< C
  double internal_vertices_per_second = 0;  ///< B_internal
  double external_vertices_per_second = 0;  ///< B_external
};

/// Rows that a link moves in a second: the unit of B_internal and B_external.
///
///   rows = bytes_per_second / (width · bytes_per_element)
///
/// Errors    ConfigError if an argument is not positive
/// Source    GraNNDis section 4.1 (text above Eq. 3)
double vertices_per_second(double bytes_per_second, double width, double bytes_per_element);

/// Epoch time when every dependency is exchanged, inside a server or between servers.
///
///   T = V/(Ns·Ng·C) + E/(Ns·Ng) · [ ((Ng − 1)/(Ng·Ns)) / B_internal + (1 − 1/Ns) / B_external ]
///
/// Each edge crosses as if its ends were on random GPUs and no row were sent once for many edges:
/// far too much for a partitioner's halos.
///
/// Units     seconds; neither compute nor exchange has a factor L, so this is one layer's worth
/// Errors    ConfigError if a count is under 1 or a size or rate is not positive
/// Source    GraNNDis Eq. 3
double previous_seconds(const GranndisRun& run);

/// How the dependencies of a server grow with depth.
enum class Growth {
  linear,      ///< D^α · L, as Eq. 4 to 9 are printed
  exponential  ///< D^(αL), as the text below Eq. 9 and the later version have it; capped
};

/// Vertices that must be computed per vertex owned.
///
///   linear       per_layer · layers
///   exponential  min(per_layer^layers, cap)
///
/// Units     dimensionless; per_layer = D^α, 0 < α < 1, found to be about 1.5 to 2.0
/// Requires  cap = Ns·Ng as Eq. 5 has it. The tight bound is Ns: a server that holds the whole
///           graph holds Ns times its share.
/// Errors    ConfigError if per_layer < 1, layers < 1 or cap < 1
/// Source    GraNNDis text above Eq. 4, Eq. 5
/// Departs   the linear form is not capped, so that Eq. 5 can be seen to fail
double dependency_growth(double per_layer, double layers, double cap,
                         Growth growth = Growth::linear);

/// Whether preloading was modelled for this growth.
///
///   1 < growth <= Ns·Ng
///
/// Errors    ConfigError if a count is under 1
/// Source    GraNNDis Eq. 5
bool preload_condition_holds(double growth, double servers, double gpus_per_server);

/// Epoch time of shared preloading: more to compute, nothing to fetch from other servers.
///
///   T = V·g/(Ns·Ng·C) + E·g/(Ns·Ng) · ((Ng − 1)/Ng) / B_internal,   g = dependency_growth(...)
///
/// Units     seconds; B_external is not used
/// Requires  1 <= g <= Ns·Ng
/// Errors    ConfigError if that fails, a count is under 1 or a size or rate is not positive
/// Source    GraNNDis Eq. 4 (the comma after its first term is a slip of the pen)
/// Departs   g = 1, which Eq. 5 excludes, is accepted: one server needs nothing preloaded, and then
///           this is Eq. 3
double preload_seconds(const GranndisRun& run, double growth);

/// Rough increase of the epoch time by preloading: negative if it wins.
///
///   ΔT = V·g/(Ns·Ng·C) − V/(Ns·Ng·C) − E/(Ns·Ng) / B_external
///
/// Units     seconds
/// Requires  fast internal links (1/B_internal ≈ 0) and many servers (1/Ns ≈ 0); else subtract
///           previous_seconds from preload_seconds
/// Errors    ConfigError if growth < 1, a count is under 1 or a size or rate is not positive
/// Source    GraNNDis Eq. 6
double preload_extra_seconds(const GranndisRun& run, double growth);

/// Break-even ratio for preloading remote vertices instead of exchanging them.
///
///   ratio = (growth − 1) / avg_degree ;  preloading wins when C / B_external > ratio
///
/// Units     growth, avg_degree: dimensionless (vertices per owned vertex, edges per vertex)
/// Errors    ConfigError if growth <= 1 or avg_degree <= 0
/// Source    GraNNDis Eq. 7; its example, D^α = 2, D = 10, L = 3 -> "at least half", is the linear
///           growth of 6 (exponential growth of 8 would be 0.7)
double preload_break_even(double growth, double avg_degree);

/// Vertices computed per vertex owned when only sampled neighbours on other servers are kept.
///
///   linear       fanout^alpha · hops
///   exponential  min(fanout^(alpha·hops), cap)
///
/// Units     dimensionless
/// Errors    ConfigError if fanout, hops or cap is under 1 or alpha is not in (0, 1)
/// Source    GraNNDis Eq. 8, whose factor is m^α·k
/// Departs   section 4.3 calls m the greatest number of hops and k the fanout, Algorithm 1 the
///           reverse. Ours is the Algorithm's: m and k then take the places of the degree D and
///           the depth L of Eq. 4, and the paper's m ≪ D, k ≪ L makes sense.
double sampled_growth(double fanout, double hops, double alpha, double cap,
                      Growth growth = Growth::linear);

/// Whether sampling was modelled for these growths.
///
///   1 < sampled < full <= Ns·Ng
///
/// Errors    ConfigError if a count is under 1
/// Source    GraNNDis Eq. 9
/// Departs   "much less" (≪) has no number: it is read as "less"
bool sampling_condition_holds(double sampled, double full, double servers, double gpus_per_server);

/// The factor of Eq. 8 for traffic inside a server.
enum class InternalFactor {
  printed,    ///< Ns·Ng − 1
  as_preload  ///< (Ng − 1)/Ng, that of Eq. 4
};

/// Epoch time of shared preloading with expansion-aware sampling.
///
///   T = V·g/(Ns·Ng·C) + E·g/(Ns·Ng) · factor / B_internal,   g = sampled_growth(...)
///
/// Units     seconds; B_external is not used
/// Requires  1 <= g <= Ns·Ng
/// Errors    ConfigError if that fails, a count is under 1 or a size or rate is not positive
/// Source    GraNNDis Eq. 8
/// Departs   with InternalFactor::as_preload only. The printed Ns·Ng − 1 looks like a slip: each
///           edge would cross a link Ns·Ng − 1 times, and sampling everything (g that of Eq. 4)
///           would not give Eq. 4.
double sampling_seconds(const GranndisRun& run, double growth,
                        InternalFactor factor = InternalFactor::printed);

/// Memory for the activations of one GPU under expansion-aware sampling of one hop.
///
///   M = 2·V·H·L·α₁/(Ns·Ng) · bytes_per_element      (2: forward and backward)
///
/// Units     bytes; expansion α₁: vertices held by a server per vertex owned
/// Requires  1 <= expansion <= servers (a server cannot hold more than the graph)
/// Errors    ConfigError if that fails, a count is under 1 or a size is not positive
/// Source    GraNNDis, version of PACT 2024, Eq. 12 to 14
double sampled_memory_bytes(double vertices, double width, double layers, double expansion,
                            double servers, double gpus_per_server, double bytes_per_element);

/// Memory per GPU after adding servers, divided by that before.
///
///   M₂/M₁ = n/m,   α₂ = n·α₁,  Ns₂ = m·Ns₁
///
/// Units     dimensionless; the paper claims that it is under 1
/// Errors    ConfigError if a factor is not positive
/// Source    GraNNDis, version of PACT 2024, Eq. 12 to 14
double sampled_memory_ratio(double expansion_factor, double servers_factor);

}  // namespace orrery::cost
