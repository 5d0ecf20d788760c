// The rows that an inference computes, as NumPy files in a folder: one for each rank that has some,
// and meta.json, which says which file has which vertices.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "core/inference/inference_body.hpp"

namespace orrery {

/// The ranks of one process may write at the same time.
class EmbeddingFiles final : public EmbeddingSink {
 public:
  /// Writes into an existing folder.
  explicit EmbeddingFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// Errors    DataError naming the file and the system's reason (disk full, not writable)
  void put(int rank, const Share& vertices, std::int64_t columns,
           std::span<const float> values) override;

 private:
  std::filesystem::path folder_;
};

/// "part-0003.npy"
std::string embedding_file(int rank);

/// The contents of meta.json: the files of all ranks that have rows, in the order of their
/// vertices.
nlohmann::ordered_json embeddings_meta(const TileLayout& layout, std::int64_t columns);

/// Whether a file of this name may be in a folder of embeddings.
bool is_embedding_file(const std::string& name);

}  // namespace orrery
