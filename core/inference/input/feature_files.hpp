// Rows of features in unordered files: a file beside each says which vertex each row belongs to.
//
//   rows-NAME.npy   float32 [n, width]
//   ids-NAME.npy    int32, uint32, int64 or uint64 [n]: the vertex of each row
//
// The rows of all files, in the order of their names, have places 0, 1, ...; a table has the place
// of every vertex, so that a row can be read in place.
//
// Source    Deal section 3.5 (fusing feature preparation; Figure 13)
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/features.hpp"
#include "core/graph/files/npy.hpp"

namespace orrery {

class FeatureFiles {
 public:
  /// Maps the files and reads the vertex of each row.
  ///
  /// Cost      8 bytes for each vertex
  /// Errors    DataError naming file and element: no files, a file without its other half, another
  ///           type or shape, files of different widths, a number that is no vertex, a vertex with no
  ///           row or two
  FeatureFiles(const std::filesystem::path& folder, std::int64_t vertices);

  /// Files whose shape alone is known. A row is equally likely in every place; there are no places of
  /// vertices, and no values.
  static FeatureFiles counted(std::int64_t vertices, std::int64_t width);
  bool is_counted() const { return files_.empty(); }

  std::int64_t rows() const { return rows_; }
  std::int64_t width() const { return width_; }
  /// For all rows, without the numbers of their vertices.
  std::int64_t bytes() const { return rows() * width_ * static_cast<std::int64_t>(sizeof(float)); }
  /// The place of a vertex's row, and the vertex of a place.
  std::int64_t place_of(Vertex vertex) const { return place_of_[at(vertex)]; }
  Vertex vertex_at(std::int64_t place) const { return vertex_at_[at(place)]; }
  /// Reads the rows at these places, so that they are in memory when copy() wants them; not faster
  /// than ORRERY_STORAGE allows (StorageRate).
  void fetch(std::int64_t first, std::int64_t count) const;
  /// out ← columns [col0, col0 + cols) of the row at a place.
  ///
  /// Errors    DataError naming file, row and column of a number that is not finite
  void copy(std::int64_t place, std::int64_t col0, std::int64_t cols, float* out) const;

 private:
  FeatureFiles() = default;
  struct File {
    std::int64_t first = 0;  ///< place of its first row
    NpyArray array;
    std::span<const float> values{};
  };
  std::string folder_;
  std::int64_t rows_ = 0, width_ = 0;
  std::vector<File> files_;
  std::vector<Vertex> place_of_, vertex_at_;
};

/// The rows by vertex, each read in place.
std::shared_ptr<const Features> located_features(std::shared_ptr<const FeatureFiles> files);

/// The same without a table: every read() goes through all rows of all files, from the first to the
/// last, and takes the requested ones.
///
/// Cost      of read(): all of FeatureFiles::bytes(), whatever is asked for
std::shared_ptr<const Features> scanned_features(std::shared_ptr<const FeatureFiles> files);

}  // namespace orrery
