#include "experiments/infer/embedding_files.hpp"

#include <fmt/core.h>

#include "core/graph/files/npy.hpp"
#include "experiments/config/version.hpp"

namespace orrery {

std::string embedding_file(int rank) { return fmt::format("part-{:04}.npy", rank); }

void EmbeddingFiles::put(int rank, const Share& vertices, std::int64_t columns,
                         std::span<const float> values) {
  NpyWriter file =
      NpyWriter::create<float>(folder_ / embedding_file(rank), {vertices.count, columns});
  file.append(values);
  file.close();
}

nlohmann::ordered_json embeddings_meta(const TileLayout& layout, std::int64_t columns) {
  nlohmann::ordered_json meta{{"schema_version", kSchemaVersion},
                              {"vertices", layout.vertices},
                              {"columns", columns},
                              {"type", "float32"},
                              {"parts", nlohmann::ordered_json::array()}};
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    const int part = layout.part_of(rank);
    const Share rows = layout.whole_rows(part, layout.column_of(rank));
    if (rows.count == 0) continue;
    meta["parts"].push_back({{"file", embedding_file(rank)},
                             {"first_vertex", layout.rows(part).first + rows.first},
                             {"vertices", rows.count}});
  }
  return meta;
}

bool is_embedding_file(const std::string& name) {
  return name == "meta.json" || (name.starts_with("part-") && name.ends_with(".npy"));
}

}  // namespace orrery
