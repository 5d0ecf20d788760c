// The rows of other ranks that batches ask for: drawn again, or kept in a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "core/strategy/structure/sampled_batches.hpp"

namespace orrery {

/// The requests of a rank, batch after batch.
struct AccessTrace {
  /// A step of a run.
  struct Step {
    int epoch = 0, number = 0;
    auto operator<=>(const Step&) const = default;
  };
  struct Batch {
    Step step;
    std::size_t end = 0;  ///< of its requests in `rows`
    bool operator==(const Batch&) const = default;
  };
  std::vector<Vertex>
      rows;  ///< global numbers of vertices, of each batch in the order of its requests
  std::vector<Batch> batches;

  std::span<const Vertex> of(std::size_t batch) const {
    const std::size_t begin = batch == 0 ? 0 : batches[batch - 1].end;
    return std::span(rows).subspan(begin, batches[batch].end - begin);
  }
  bool operator==(const AccessTrace&) const = default;
};

/// Draws the batches of a rank once more.
AccessTrace accesses_of(const SampledBatches& batches, int rank,
                        const std::vector<AccessTrace::Step>& steps);
/// Of all steps of the first epochs.
AccessTrace accesses_of(const SampledBatches& batches, int rank, int epochs);

inline constexpr const char* kAccesses = "accesses.npy";
inline constexpr const char* kAccessBatches = "access_batches.npy";

/// Writes the traces of all ranks into a folder: `accesses.npy` has all rows, rank after rank, and
/// `access_batches.npy` a line for each batch: rank, epoch, step, and the end of its rows among them.
/// Returns their bytes together.
///
/// Shapes    ranks: [ranks] · accesses.npy int32 [rows], access_batches.npy int64 [batches, 4]
/// Errors    Error: a file cannot be written
std::int64_t write_accesses(const std::filesystem::path& folder,
                            const std::vector<AccessTrace>& ranks);

/// Reads them back.
///
/// Errors    DataError: no such files, of other types or shapes; batches that are in no order, of ranks that
///           there are not; rows that are none of the graph, or that their rank has itself: the trace is then
///           of another graph, partition or number of ranks
std::vector<AccessTrace> read_accesses(const std::filesystem::path& folder,
                                       const RowOwners& owners);

}  // namespace orrery
