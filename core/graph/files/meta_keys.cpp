#include "core/graph/files/meta_keys.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/terminal/words.hpp"

namespace orrery {
namespace {

const std::vector<std::string> kKeys{
    "schema_version", "name", "num_nodes", "num_edges", "directed", "symmetric", "num_features",
    "num_classes", "multilabel", "has_labels", "has_split", "feature_storage", "vertex_types",
    "vertex_type_counts", "relations", "generated", "made_up", "published_num_features",
    "published_num_classes",
    // what people and statistics say
    "source", "notes", "self_loops", "split_counts", "label_counts", "unlabelled_nodes",
    "connected_components", "largest_component", "isolated_nodes", "max_out_degree",
    "mean_out_degree"};

const std::vector<std::string> kFeatureKeys{
    "kind",   "file",    "files",         "types",        "dtype",         "shape",     "nnz",
    "binary", "made_up", "data_all_ones", "indptr_dtype", "indices_dtype", "data_dtype"};

/// "has_label (did you mean has_labels?)" for each key that is not known.
void add_unknown(const JsonReader::Json& object, const std::vector<std::string>& known,
                 const std::string& before, std::vector<std::string>& unknown) {
  if (!object.is_object()) return;
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    const std::string close = slip_of(key, known);
    unknown.push_back(before + one_line(key) +
                      (close.empty() ? "" : fmt::format(" (did you mean {}{}?)", before, close)));
  }
}

}  // namespace

std::vector<std::string> notes_on_unknown_keys(const MetaFile& meta) {
  constexpr std::size_t kMost = 10;  // of a line that a person reads
  const JsonReader::Json& all = meta.json();
  std::vector<std::string> unknown;
  add_unknown(all, kKeys, "", unknown);
  if (const auto storage = all.find("feature_storage"); storage != all.end())
    add_unknown(*storage, kFeatureKeys, "feature_storage/", unknown);
  if (unknown.empty()) return {};
  const std::size_t more = unknown.size() - std::min(unknown.size(), kMost);
  unknown.resize(unknown.size() - more);
  return {fmt::format("these keys of meta.json are not known and not used: {}{}",
                      fmt::join(unknown, ", "),
                      more == 0 ? "" : fmt::format(" and {} more", more))};
}

}  // namespace orrery
