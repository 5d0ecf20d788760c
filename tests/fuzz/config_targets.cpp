// Files that people write: experiments with what --set adds, clusters, device profiles.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "experiments/config/cluster_file.hpp"
#include "experiments/config/experiment.hpp"
#include "experiments/config/profile_file.hpp"
#include "experiments/config/validate_json.hpp"
#include "tests/fuzz/folder_input.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {
namespace {

namespace fs = std::filesystem;

/// "\n@@@@ set\n" begins the lines of --set.
void read_experiment(std::string_view input) {
  const Files files = unpack(input);
  std::vector<std::string> overrides;
  for (std::string_view rest = find(files, "set"); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    overrides.emplace_back(line);
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  parse_experiments(std::string(find(files, "experiment.json")), "experiment.json", overrides);
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The files of a folder that ships, the smallest first.
std::vector<std::string> shipped(const std::string& folder, std::size_t most) {
  std::vector<std::string> texts;
  for (const auto& entry : fs::directory_iterator(fs::path(ORRERY_SOURCES) / "configs" / folder))
    if (entry.path().extension() == ".json" && entry.path().filename() != "datasets.json")
      texts.push_back(text_of(entry.path()));
  std::ranges::sort(texts, [](const auto& a, const auto& b) {
    return std::tuple(a.size(), a) < std::tuple(b.size(), b);
  });
  texts.resize(std::min(texts.size(), most));
  return texts;
}

std::vector<std::string> experiment_seeds() {
  std::vector<std::string> seeds;
  for (const char* folder : {"", "citation", "granndis"})
    if (fs::is_directory(fs::path(ORRERY_SOURCES) / "configs" / folder))
      for (const std::string& text : shipped(folder, 4))
        seeds.push_back(
            pack({{"experiment.json", text}, {"set", "train.epochs=3\nname=\"x\"\nsweep={}\n"}}));
  return seeds;
}

}  // namespace

std::vector<Target> config_targets() {
  return {
      {"experiment",
       read_experiment,
       experiment_seeds,
       {"\"dataset\": {", "\"statistics\": {",
        "\"parts\": ", "\"strategy\": {\"type\": ", "\"model_averaging\"", "\"shared_preloading\"",
        "\"spmm_15d\"", "\"sweep\": {", "\"cluster\": {", "\"file\": \"dgx-1\"", "\"16 GiB\"",
        "\"fit\"", "\nmodel.layers=", "\npartition=", "\ncluster.device_bytes=", "[[[[", "....",
        "\"simulate_on\": ["}},
      {"cluster",
       [](std::string_view in) { make_cluster(parse_json(std::string(in), "cluster")); },
       [] { return shipped("clusters", 12); },
       {"\"servers\": ", "\"nodes\": ", "\"links\": ", "\"count\": ", "*a*", "..", "\"pairs\"",
        "\"network\": ", "\"template\": "}},
      {"profile",
       [](std::string_view in) { make_profile(parse_json(std::string(in), "profile")); },
       [] { return shipped("devices", 3); },
       {"\"source\": ", "\"value\": ", "\"tables\": ", "\"kinds\": ", "\"host\": ", "\"axes\": "}}};
}

}  // namespace orrery::fuzz
