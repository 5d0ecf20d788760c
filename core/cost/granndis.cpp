#include "core/cost/granndis.hpp"

#include <algorithm>
#include <cmath>

#include "core/cost/require.hpp"

namespace orrery::cost {
namespace {

double gpus(const GranndisRun& run) { return run.servers * run.gpus_per_server; }

void require_run(const GranndisRun& run) {
  require_positive(run.vertices, "vertices");
  require_positive(run.edges, "edges");
  require_count(run.servers, "servers");
  require_count(run.gpus_per_server, "GPUs per server");
  require_positive(run.compute_vertices_per_second, "the compute rate");
  require_positive(run.internal_vertices_per_second, "the internal rate");
  require_positive(run.external_vertices_per_second, "the external rate");
}

void require_growth(const GranndisRun& run, double growth) {
  require(growth >= 1 && growth <= gpus(run),
          "growth must be in [1, servers · GPUs per server] (GraNNDis Eq. 5); exponential growth "
          "can be capped");
}

double grown(double base, double exponent, double layers, double cap, Growth growth) {
  if (growth == Growth::linear) return std::pow(base, exponent) * layers;
  return std::min(std::pow(base, exponent * layers), cap);
}

/// Eq. 4 and 8: `factor` is the share of the edges that cross inside a server.
double preloaded_seconds(const GranndisRun& run, double growth, double factor) {
  require_run(run);
  require_growth(run, growth);
  const double compute = run.vertices * growth / (gpus(run) * run.compute_vertices_per_second);
  return compute + run.edges * growth / gpus(run) * factor / run.internal_vertices_per_second;
}

}  // namespace

double vertices_per_second(double bytes_per_second, double width, double bytes_per_element) {
  require_positive(bytes_per_second, "the link's rate");
  require_positive(width, "width");
  require_positive(bytes_per_element, "bytes per element");
  return bytes_per_second / (width * bytes_per_element);
}

double previous_seconds(const GranndisRun& run) {
  require_run(run);
  const double compute = run.vertices / (gpus(run) * run.compute_vertices_per_second);
  const double internal = (run.gpus_per_server - 1) / gpus(run) / run.internal_vertices_per_second;
  const double external = (1 - 1 / run.servers) / run.external_vertices_per_second;
  return compute + run.edges / gpus(run) * (internal + external);
}

double dependency_growth(double per_layer, double layers, double cap, Growth growth) {
  require_count(per_layer, "growth per layer");
  require_count(layers, "layers");
  require_count(cap, "the cap of the growth");
  return grown(per_layer, 1, layers, cap, growth);
}

bool preload_condition_holds(double growth, double servers, double gpus_per_server) {
  require_count(servers, "servers");
  require_count(gpus_per_server, "GPUs per server");
  return growth > 1 && growth <= servers * gpus_per_server;
}

double preload_seconds(const GranndisRun& run, double growth) {
  return preloaded_seconds(run, growth, (run.gpus_per_server - 1) / run.gpus_per_server);
}

double preload_extra_seconds(const GranndisRun& run, double growth) {
  require_run(run);
  require_count(growth, "growth");
  const double compute =
      run.vertices * (growth - 1) / (gpus(run) * run.compute_vertices_per_second);
  return compute - run.edges / gpus(run) / run.external_vertices_per_second;
}

double preload_break_even(double growth, double avg_degree) {
  require(growth > 1, "growth must be over 1: nothing is preloaded (GraNNDis Eq. 5)");
  require_positive(avg_degree, "the average degree");
  return (growth - 1) / avg_degree;
}

double sampled_growth(double fanout, double hops, double alpha, double cap, Growth growth) {
  require_count(fanout, "fanout");
  require_count(hops, "hops");
  require(alpha > 0 && alpha < 1, "alpha must be between 0 and 1");
  require_count(cap, "the cap of the growth");
  return grown(fanout, alpha, hops, cap, growth);
}

bool sampling_condition_holds(double sampled, double full, double servers, double gpus_per_server) {
  return sampled > 1 && sampled < full && preload_condition_holds(full, servers, gpus_per_server);
}

double sampling_seconds(const GranndisRun& run, double growth, InternalFactor factor) {
  const double crossing = factor == InternalFactor::printed
                              ? gpus(run) - 1
                              : (run.gpus_per_server - 1) / run.gpus_per_server;
  return preloaded_seconds(run, growth, crossing);
}

double sampled_memory_bytes(double vertices, double width, double layers, double expansion,
                            double servers, double gpus_per_server, double bytes_per_element) {
  require_positive(vertices, "vertices");
  require_positive(width, "width");
  require_count(layers, "layers");
  require_count(servers, "servers");
  require_count(gpus_per_server, "GPUs per server");
  require_positive(bytes_per_element, "bytes per element");
  require(expansion >= 1 && expansion <= servers, "expansion must be in [1, servers]");
  const double elements = 2 * vertices * width * layers * expansion / (servers * gpus_per_server);
  return elements * bytes_per_element;
}

double sampled_memory_ratio(double expansion_factor, double servers_factor) {
  require_positive(expansion_factor, "the factor of the expansion");
  require_positive(servers_factor, "the factor of the servers");
  return expansion_factor / servers_factor;
}

}  // namespace orrery::cost
