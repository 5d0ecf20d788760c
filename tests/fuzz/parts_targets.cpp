// Folders of parts. Their checksums keep random changes out, so that where an input asks for it
// ("seal") they are made to fit: a folder that another program wrote, or a person of bad will.
#include <algorithm>

#include "core/graph/files/checksum.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/partition/parts/partitioned_dataset.hpp"
#include "core/partition/parts/write_parts.hpp"
#include "tests/fuzz/folder_input.hpp"
#include "tests/fuzz/small_set.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {
namespace {

using Json = nlohmann::ordered_json;

/// The JSON of a file, or null where it is none that may be written again.
Json json_of(std::string_view text) {
  if (std::ranges::count(text, '[') + std::ranges::count(text, '{') > 50) return nullptr;
  Json json = Json::parse(text, nullptr, false);
  return json.is_object() ? json : Json(nullptr);
}

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Makes all checksums fit.
void seal(Files& files) {
  std::map<std::string, std::string> of_parts;
  for (auto& [name, text] : files) {
    if (!name.ends_with("/meta.json")) continue;
    const std::string folder = name.substr(0, name.find('/') + 1);
    if (Json meta = json_of(text); !meta.is_null()) {
      meta["checksums"] = Json::object();
      for (const auto& [other, bytes] : files)
        if (other.starts_with(folder) && other != name)
          meta["checksums"][other.substr(folder.size())] = checksum(bytes);
      text = dumped(meta);
    }
    of_parts[folder] = checksum(text);
  }
  for (auto& [name, text] : files) {
    if (name != "meta.json") continue;
    Json meta = json_of(text);
    if (meta.is_null()) return;
    meta["checksums"] = Json::array();
    for (const auto& [folder, sum] : of_parts) meta["checksums"].push_back(sum);
    meta.erase("checksum");
    meta["checksum"] = checksum(dumped(meta));
    text = dumped(meta);
  }
}

void read_parts(std::string_view input) {
  Files files = unpack(input);
  const bool sealed =
      std::erase_if(files, [](const auto& file) { return file.first == "seal"; }) > 0;
  if (sealed) seal(files);
  scratch().fill(files);
  const PartitionedDataset parts(scratch().path());
  const auto count = std::min<std::ptrdiff_t>(std::ssize(parts.sizes()), 4);
  for (int p = 0; p < count; ++p) {
    const StoredPart part = parts.read(p);
    if (!part.local->features || part.local->features->width() > 1000) continue;
    std::vector<float> row(static_cast<std::size_t>(part.local->features->width()));
    for (Vertex v = 0; v < std::min<std::int64_t>(part.local->vertices(), 100); ++v)
      part.local->features->read({&v, 1}, 0, std::ssize(row), row.data(), std::ssize(row));
  }
}

std::vector<std::string> seeds() {
  std::vector<std::string> inputs;
  const auto add = [&](const Dataset& data, int hops) {
    const Partition cut = partition_graph(*data.graph, 2, PartitionOptions{}, data.split);
    const Scratch folder;
    write_parts(data, cut, {.method = "block", .hops = hops}, folder.path() / "parts");
    Files files = files_of(folder.path() / "parts");
    inputs.push_back(pack(files));
    files.emplace_back("seal", "");
    inputs.push_back(pack(files));
  };
  const Dataset data = small_set();
  for (int hops = 0; hops < 3; ++hops) add(data, hops);
  add(small_typed_set(), 1);
  return inputs;
}

}  // namespace

std::vector<Target> parts_targets() {
  return {{"parts",
           read_parts,
           seeds,
           {"@@@@ seal\n", "\"sizes\": [", "\"replicas\": [", "\"training\": [", "\"hops\": ",
            "\"parts\": ", "\"num_nodes\": ", "\"owned_nodes\": ", "\"num_features\": ",
            "\"num_classes\": ", "\"multilabel\": true", "\"symmetric\": false"}}};
}

}  // namespace orrery::fuzz
