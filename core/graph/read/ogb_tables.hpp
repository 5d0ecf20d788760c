// The CSV files of the Open Graph Benchmark, as its homogeneous and its heterogeneous sets have
// them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/dataset.hpp"
#include "core/graph/files/text.hpp"

namespace orrery {

/// The label of a vertex that has none.
constexpr std::int32_t kUnlabelled = -1;

/// folder/name.csv or folder/name.csv.gz, whichever is there.
std::optional<std::filesystem::path> find_csv(const std::filesystem::path& folder,
                                              const std::string& name);

/// Numbers in rows of equal length, row-major.
template <class T>
struct CsvTable {
  std::int64_t rows = 0, columns = 0;
  std::vector<T> values;
};

/// Errors    DataError: an empty file, rows of different lengths, a number that is not finite
CsvTable<float> read_features_table(const TextFile& file);

/// Classes (or 0/1); "nan" is read as kUnlabelled.
///
/// Errors    DataError: an empty file, rows of different lengths, no integer from 0 on
CsvTable<std::int32_t> read_labels_table(const TextFile& file);

/// One more than the largest label of one column.
///
/// Errors    DataError: more classes than the number of rows makes plausible
std::int64_t classes_of(const CsvTable<std::int32_t>& labels, const TextFile& file);

/// The single count in num-node-list.csv or num-edge-list.csv, if there is one.
///
/// Errors    DataError: several counts (of several graphs)
std::optional<std::int64_t> read_count(const std::filesystem::path& folder,
                                       const std::string& name);

/// Errors    DataError at the end of the file if it has another number of rows; `of_what` has one
void require_rows(const TextFile& file, std::int64_t found, std::int64_t expected,
                  const std::string& of_what);

/// Notes which files there are of features and relations of edges, which no reader takes from this
/// layout. `folders`: where edge.csv lies; several are those of relations.
void note_unread(const std::vector<std::filesystem::path>& folders,
                 std::vector<std::string>& notes);

/// The first split by name; notes which one if there are several.
std::optional<std::filesystem::path> first_split(std::vector<std::filesystem::path> splits,
                                                 std::vector<std::string>& notes);

/// Reads train.csv, valid.csv and test.csv of a folder: numbers of vertices, from 0 on, whose
/// places in `split` begin at `first`.
///
/// Errors    DataError: a file is missing, a number is not below `count`, a vertex comes twice
void read_split_files(const std::filesystem::path& folder, std::int64_t first, std::int64_t count,
                      std::vector<Split>& split);

}  // namespace orrery
