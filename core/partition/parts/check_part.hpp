// Parts held against what is said of them: checksums guard against accidents, this against folders
// whose files are whole and do not belong together.
#pragma once

#include <filesystem>

#include "core/graph/files/meta_file.hpp"
#include "core/partition/parts/partitioned_dataset.hpp"

namespace orrery {

/// Holds the meta.json of part `number` against that of all parts: the same counts, and a checksum
/// for every file. Compares the files with their checksums.
///
/// Errors    DataError (file, key, expected, found)
void check_part_files(const MetaFile& meta, const std::filesystem::path& folder,
                      const PartitionedDataset& whole, int number);

/// Holds what was read of a part against itself and against what is known of the whole: features,
/// labels and split as announced; own vertices that ascend; replicas that others own, in their
/// order, at rows that they have; degrees that fit the edges. That a replica's row holds that
/// vertex is known to the part which owns it, and not checked.
///
/// Errors    DataError (file, position, expected, found)
/// Cost      a few passes over the part; 4 bytes per vertex of it
void check_part(const StoredPart& part, const std::filesystem::path& folder,
                const PartitionedDataset& whole, int number);

}  // namespace orrery
