// What the vertices of a data set are called where it comes from, beside the set on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace orrery {

/// Numbers or words, in the order of the vertices. Both are empty where vertex v is number v there.
struct VertexNames {
  std::vector<std::int64_t> numbers;
  std::vector<std::string> words;  ///< in one line each; numbers from 2^63 on are words, too

  bool present() const { return !numbers.empty() || !words.empty(); }
  /// The file of a data set folder that has them.
  std::string file() const { return words.empty() ? "ids.npy" : "names.txt"; }
};

/// The numbers (ids.npy, int64 [vertices]) or words (names.txt, a line each) of a data set folder; none where it
/// has no such file.
///
/// Errors    DataError: both files are there, or one is not of so many vertices
VertexNames read_vertex_names(const std::filesystem::path& folder, std::int64_t vertices);

/// Writes what read_vertex_names() reads, if there is anything.
///
/// Errors    DataError or Error: a file cannot be written (the system's reason is named)
void write_vertex_names(const VertexNames& names, const std::filesystem::path& folder);

}  // namespace orrery
