// Compares parts with what is recorded about them. Checksums guard against accidents, this against
// folders whose intact files do not belong together.
#pragma once

#include <filesystem>

#include "core/graph/files/meta_file.hpp"
#include "core/partition/parts/partitioned_dataset.hpp"

namespace orrery {

/// Compares the meta.json of part `number` with that of all parts: the same counts, and a checksum
/// for every file. Compares the files with their checksums.
///
/// Errors    DataError (file, key, expected, found)
void check_part_files(const MetaFile& meta, const std::filesystem::path& folder,
                      const PartitionedDataset& whole, int number);

/// Checks a part after reading, against itself and against what is known of the whole: features,
/// labels and split as recorded; ascending own vertices; replicas that others own, in their order,
/// at existing rows; degrees that fit the edges. It does not check that a replica's row holds that
/// vertex: only the owning part knows.
///
/// Errors    DataError (file, position, expected, found)
/// Cost      a few passes over the part; 4 bytes per vertex of it
void check_part(const StoredPart& part, const std::filesystem::path& folder,
                const PartitionedDataset& whole, int number);

/// Compares the number of edges of all parts with the in-degrees of all vertices, if all parts are
/// present.
///
/// Errors    DataError (file, key, expected, found)
/// Cost      reads 4 bytes per vertex
void check_edge_count(const PartitionedDataset& whole, const std::filesystem::path& folder);

}  // namespace orrery
