// The tiles of the layers that an inference has finished, in files, so that it can continue from
// them if it was killed.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "core/inference/inference_body.hpp"

namespace orrery {

/// A folder with a file for each layer and rank, and what they depend on. Several ranks may write
/// at the same time, also from several processes. A file exists only when it is complete.
class LayerFiles final : public LayerStore {
 public:
  /// `first`: the layers below exist already.
  LayerFiles(std::filesystem::path folder, int first) : folder_(std::move(folder)), first_(first) {}

  int layers_done() const override { return first_; }
  /// Errors    Error naming the file and the system's reason
  void put(int rank, int layer, std::span<const float> tile) override;
  /// Errors    DataError: damaged, or of another size than `elements`
  std::shared_ptr<const std::vector<float>> take(int rank, int layer,
                                                 std::int64_t elements) const override;

 private:
  std::filesystem::path folder_;
  int first_;
};

/// Removes our files in such a folder, and the folder itself if nothing else is in it. Files that
/// cannot be removed stay.
void remove_layer_files(const std::filesystem::path& folder);

/// Makes the folder for an inference that depends on `identity` and answers how many layers of it
/// all ranks have kept there. Without `resume`, our files in it are removed first.
///
/// Shapes    widths [layers + 1]: columns of each level
/// Errors    ConfigError: resumed, and it holds another one's, naming the first key that differs
int open_layer_files(const std::filesystem::path& folder, const nlohmann::ordered_json& identity,
                     const TileLayout& layout, const std::vector<std::int64_t>& widths,
                     bool resume);

}  // namespace orrery
