// Writes folders of parts (partitioned_dataset.hpp).
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/graph/read/streamed_dataset.hpp"
#include "core/partition/edges/edge_stream.hpp"
#include "core/partition/partition.hpp"

namespace orrery {

/// How parts were cut, which their meta.json records, and options of writing.
struct PartsOptions {
  std::string method;
  nlohmann::ordered_json parameters = nlohmann::ordered_json::object();
  int hops = 1;        ///< reach of the parts beyond their own vertices, 0 to 3
  bool force = false;  ///< replace a folder of parts
  /// With hops 0: a cross edge is in one of its two parts, drawn by this seed; nothing: in none.
  std::optional<std::uint64_t> one_sided = std::nullopt;
};

/// Checks before the cut whether parts may be written there: only parts are replaced by parts.
///
/// Errors    DataError as write_parts
void require_place_for_parts(const std::filesystem::path& folder, bool force);

/// Writes the parts, completely or not at all: `folder` appears when all is written.
///
/// Errors    DataError: `folder` exists and may not be replaced, or is no folder of parts; a
///           file cannot be written (the message has the system's reason)
void write_parts(const Dataset& data, const Partition& partition, const PartsOptions& options,
                 const std::filesystem::path& folder);

/// The same for a data set on disk whose edges come as a stream; the same bytes. `data` has the
/// name and what is known of the vertices. If it has types, the relation of each edge is read from
/// edge_relations.npy.
///
/// Cost      two passes over the edges (four if the graph is directed or typed); then each part
///           reads three times the rows of its vertices less than k hops away, whose edges it
///           writes, five times if they have relations. In memory at most 34 bytes per vertex (38
///           of a typed graph), the partition included, and some 100 MB. On disk, beside `folder`,
///           up to 12 bytes per directed edge (16 of a directed graph, 28 for each relation of an
///           edge) until it is done
/// Errors    also those of the stream and of the data set's files
void write_parts(EdgeStream& edges, const StreamedDataset& data, const Partition& partition,
                 const PartsOptions& options, const std::filesystem::path& folder);

}  // namespace orrery
