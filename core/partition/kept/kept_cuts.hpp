// Cuts that a folder keeps, so that no start cuts the same graph again.
#pragma once

#include <filesystem>
#include <string>

#include "core/graph/dataset.hpp"
#include "core/partition/partition.hpp"
#include "core/partition/partition_options.hpp"

namespace orrery {

/// A cut and how it came about.
struct MadeCut {
  Partition partition;
  double seconds = 0;  ///< how long it took to cut; for one from the folder: when it was made
  bool kept = false;   ///< it is from the folder
};

/// The folder of the environment variable ORRERY_CACHE; empty if it is unset, and while somebody
/// measures cuts: nothing is kept then, and nothing taken.
std::filesystem::path folder_of_cuts();

/// As long as it lives, every cut of the process is made anew: for those who measure its time.
class CutsAnew {
 public:
  CutsAnew();
  ~CutsAnew();
  CutsAnew(const CutsAnew&) = delete;
  CutsAnew& operator=(const CutsAnew&) = delete;
};

/// Whether a CutsAnew lives.
bool are_cut_anew();

/// Whether the cuts of a method are worth a file: those of all methods of this program that look at
/// edges. The others are a formula of the vertex number, the degree or the seed, or are read from a
/// file. The code of a method from outside may change unseen, so its cuts are not kept.
bool is_kept(const std::string& method);

/// cut_dataset(), or what it made in an earlier start: the same owners, bit for bit. A new cut is
/// written into the folder, which is made if it is missing; nothing is ever removed from there.
/// Several processes may use it at once. Files that are damaged or of something else are replaced. A
/// note tells of those, and of a folder that cannot be written; neither is an error.
///
/// `folder`: empty: cuts anew and keeps nothing
/// Errors    those of cut_dataset()
MadeCut make_or_take_cut(const Dataset& data, int parts, const PartitionOptions& options,
                         const std::filesystem::path& folder);

}  // namespace orrery
