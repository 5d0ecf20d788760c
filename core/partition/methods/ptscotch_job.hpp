// What the method "ptscotch" hands to its processes, as a file that each reads its own rows of.
#pragma once

#include <cstdint>

namespace orrery {

/// The beginning of the file. Behind it lie, for a symmetric graph without self-loops:
///   offsets of the rows, int64 [vertices + 1]
///   weights of the vertices, int32 [vertices]
///   columns of the rows, int32 [entries]
/// The answer is a file of parts, int32 [vertices], into which each process writes those of its rows.
struct PtscotchJob {
  std::int64_t vertices = 0, entries = 0;
  std::int64_t parts = 1;
  std::int64_t seed = 0;
  double balance = 1;  ///< largest weight of a part / mean

  std::int64_t offset_at(std::int64_t row) const {
    return static_cast<std::int64_t>(sizeof(PtscotchJob)) + 8 * row;
  }
  std::int64_t weight_at(std::int64_t vertex) const { return offset_at(vertices + 1) + 4 * vertex; }
  std::int64_t column_at(std::int64_t entry) const { return weight_at(vertices) + 4 * entry; }
};

/// The first row of a process; that of process `processes` is the end.
inline std::int64_t first_row(std::int64_t vertices, int process, int processes) {
  return vertices / processes * process + vertices % processes * process / processes;
}

}  // namespace orrery
