#include "experiments/predict/server_memory.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/base/index.hpp"
#include "core/base/units.hpp"

namespace orrery {

BatchesAhead in_flight(const Strategy& strategy, const BatchSizes& sizes) {
  const auto ahead = strategy.schedule(0).ahead;
  const int together = ahead ? ahead->together() : 1;
  return {together, together * sizes.host_bytes.most + sizes.shared_host_bytes.most,
          together * sizes.host_bytes.bound + sizes.shared_host_bytes.bound};
}

std::optional<BatchesAhead> in_flight(const Strategy& strategy) {
  const std::optional<BatchSizes> sizes = strategy.batch_sizes();
  if (!sizes) return std::nullopt;
  return in_flight(strategy, *sizes);
}

std::optional<ServerMemory> fullest_server(const Experiment& experiment, const Programs& programs,
                                           std::int64_t in_flight) {
  if (!experiment.cluster || experiment.cluster->host.memory_bytes == 0) return std::nullopt;
  std::map<int, ServerMemory> servers;
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    const int number = experiment.cluster->server_of(experiment.devices[rank]);
    ServerMemory& server = servers[number];
    const auto& peaks = programs[rank]->peak_bytes;
    server.server = number;
    server.room = experiment.cluster->host.memory_bytes;
    ++server.ranks;
    server.host += peaks[at(Space::host)];
    server.pinned_host += peaks[at(Space::pinned_host)];
    server.server_host += peaks[at(Space::server_host)];
    server.in_flight += in_flight;
  }
  const auto fullest = std::max_element(
      servers.begin(), servers.end(),
      [](const auto& a, const auto& b) { return a.second.bytes() < b.second.bytes(); });
  if (fullest == servers.end() || fullest->second.bytes() == 0) return std::nullopt;
  return fullest->second;
}

ServerTooSmall::ServerTooSmall(const ServerMemory& memory)
    : OutOfMemory(fmt::format("all ranks of server {}", memory.server), memory.bytes(), 0,
                  memory.room, "server"),
      line_(server_memory_line(memory)) {}

std::string server_memory_line(const ServerMemory& memory) {
  std::string kinds;
  for (const auto& [bytes, name] : {std::pair{memory.host, "host"},
                                    {memory.pinned_host, "pinned host"},
                                    {memory.server_host, "read by the server's ranks"},
                                    {memory.in_flight, "of batches that are prepared ahead"}})
    if (bytes > 0)
      kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ",
                           human_bytes(static_cast<double>(bytes)), name);
  std::string line = fmt::format(
      "{} rank{} of server {} hold{} {} of its host memory together ({}): ", memory.ranks,
      memory.ranks == 1 ? "" : "s", memory.server, memory.ranks == 1 ? "s" : "",
      human_bytes(static_cast<double>(memory.bytes())), kinds);
  const std::string room = human_bytes(static_cast<double>(memory.room));
  if (memory.fits()) return line + "fits into " + room;
  return line + fmt::format(
                    "does NOT fit into {} (cluster.host_bytes, or host_memory_bytes of the "
                    "cluster file): use more servers with fewer ranks on each{}",
                    room, memory.in_flight > 0 ? ", or a shorter strategy.pipeline" : "");
}

}  // namespace orrery
