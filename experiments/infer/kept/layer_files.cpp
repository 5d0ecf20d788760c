#include "experiments/infer/kept/layer_files.hpp"

#include <fmt/core.h>

#include <cstring>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/whole_file.hpp"
#include "core/graph/files/bytes_of.hpp"
#include "core/graph/files/checksum.hpp"
#include "experiments/infer/kept/kept_identity.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

// Layout of a file: the checksum of the rest, eight digits; float32, row by row.
constexpr std::size_t kChecksumDigits = 8;
constexpr const char* kIdentity = "inference.json";

fs::path file_of(const fs::path& folder, int rank, int layer) {
  return folder / fmt::format("layer-{}-rank-{}.bin", layer, rank);
}

}  // namespace

void LayerFiles::put(int rank, int layer, std::span<const float> tile) {
  const std::string_view values(reinterpret_cast<const char*>(tile.data()), tile.size_bytes());
  std::string text = checksum(values);
  text += values;
  write_file(file_of(folder_, rank, layer), text);
}

std::shared_ptr<const std::vector<float>> LayerFiles::take(int rank, int layer,
                                                           std::int64_t elements) const {
  const fs::path file = file_of(folder_, rank, layer);
  const std::string text = bytes_of(file);
  const std::size_t size = static_cast<std::size_t>(elements) * sizeof(float);
  if (text.size() != kChecksumDigits + size ||
      checksum(std::string_view(text).substr(kChecksumDigits)) != text.substr(0, kChecksumDigits))
    throw DataError(file.string(), "", "is damaged: start anew without --resume, which removes it");
  auto values = std::make_shared<std::vector<float>>(static_cast<std::size_t>(elements));
  if (size > 0) std::memcpy(values->data(), text.data() + kChecksumDigits, size);
  return values;
}

void remove_layer_files(const fs::path& folder) {
  remove_kept(folder, [](const std::string& name) {
    return name.starts_with(kIdentity) ||
           (name.starts_with("layer-") && name.find(".bin") != name.npos);
  });
}

int open_layer_files(const fs::path& folder, const nlohmann::ordered_json& identity,
                     const TileLayout& layout, const std::vector<std::int64_t>& widths,
                     bool resume) {
  const fs::path said = folder / kIdentity;
  if (!resume || !require_same_identity(said, identity)) remove_layer_files(folder);
  fs::create_directories(folder);
  if (!fs::exists(said)) write_file(said, identity.dump(2) + "\n");
  for (int layer = static_cast<int>(widths.size()) - 1; layer > 0; --layer) {
    bool all = true;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
      const bool has_tile = layout.rows(layout.part_of(rank)).count *
                                layout.columns(widths[at(layer)], layout.column_of(rank)).count >
                            0;
      all = all && (!has_tile || fs::exists(file_of(folder, rank, layer)));
    }
    if (all) return layer;
  }
  return 0;
}

}  // namespace orrery
