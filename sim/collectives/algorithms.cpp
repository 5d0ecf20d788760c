#include "sim/collectives/algorithms.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/base/units.hpp"
#include "sim/collectives/planner.hpp"

namespace orrery::sim {
namespace {

using K = CollectiveKind;
constexpr auto kAlgorithms = std::to_array<Algorithm>({
    {"direct", K::send_recv, direct},
    {"flat", K::broadcast, flat},
    {"flat", K::reduce, flat},
    {"flat", K::all_reduce, flat_all_reduce},
    {"binomial tree", K::broadcast, binomial},
    {"binomial tree", K::reduce, binomial},
    {"chain", K::broadcast, pipelined_chain},
    {"chain", K::reduce, pipelined_chain},
    {"ring", K::broadcast, pipelined_ring},
    {"ring", K::reduce, pipelined_ring},
    {"ring by servers", K::broadcast, ring_by_servers},
    {"ring by servers", K::reduce, ring_by_servers},
    {"ring", K::all_reduce, ring_all_reduce},
    {"ring", K::reduce_scatter, ring_reduce_scatter},
    {"ring", K::all_gather, ring_all_gather},
    {"double tree", K::all_reduce, double_tree},
    {"hierarchical", K::broadcast, by_servers},
    {"hierarchical", K::reduce, by_servers},
    {"hierarchical", K::all_reduce, servers_all_reduce},
    {"hierarchical", K::reduce_scatter, servers_reduce_scatter},
    {"hierarchical", K::all_gather, servers_all_gather},
    {"slices", K::all_reduce, slices_all_reduce},
    {"pairwise", K::reduce_scatter, pairwise_reduce_scatter},
    {"pairwise", K::all_gather, pairwise_all_gather},
    {"pairwise", K::all_to_all, pairwise_all_to_all},
});

}  // namespace

std::vector<double> Task::slices() const {
  std::vector<double> bytes;
  for (int i = 0; i < shape.ranks; ++i) bytes.push_back(part(i));
  return bytes;
}

std::span<const Algorithm> algorithms() { return kAlgorithms; }

const Algorithm* find_algorithm(std::string_view name, CollectiveKind kind) {
  const auto found = std::find_if(kAlgorithms.begin(), kAlgorithms.end(), [&](const Algorithm& a) {
    return a.kind == kind && a.name == name;
  });
  return found == kAlgorithms.end() ? nullptr : &*found;
}

std::vector<std::string_view> algorithm_names() {
  std::vector<std::string_view> names;
  for (const Algorithm& a : kAlgorithms)
    if (std::find(names.begin(), names.end(), a.name) == names.end()) names.push_back(a.name);
  return names;
}

std::string channels_text(std::size_t channels) {
  return channels == 1 ? "" : fmt::format(", {} channels", channels);
}

std::string chunks_text(double chunk_bytes, double message_bytes) {
  if (chunk_bytes <= 0 || message_bytes <= chunk_bytes) return "";
  const double kib = chunk_bytes / 1024;
  const bool whole = kib == static_cast<double>(static_cast<long>(kib));
  return ", chunks of " + (whole ? fmt::format("{} KiB", kib) : human_bytes(chunk_bytes));
}

}  // namespace orrery::sim
