#include "core/graph/read/lookup.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "core/base/error.hpp"
#include "core/terminal/words.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOgb = "Open Graph Benchmark, https://ogb.stanford.edu/docs/nodeprop";
constexpr std::string_view kSnap =
    "Stanford Network Analysis Project, https://snap.stanford.edu/data";
constexpr std::string_view kPlanetoid = "Planetoid, https://github.com/kimiyoung/planetoid";
constexpr std::string_view kSaint = "GraphSAINT, https://github.com/GraphSAINT/GraphSAINT";
constexpr std::string_view kShchur = "gnn-benchmark, https://github.com/shchur/gnn-benchmark";
constexpr std::string_view kReadAsIs = "read as it is";
constexpr std::string_view kUnpack =
    "unpack; the folder with raw/ and split/ is read as it is (format ogb)";
constexpr std::string_view kToNumpy =
    "save as a folder of NumPy files with meta.json (format orrery, see docs/data.md)";

constexpr auto kSets = std::to_array<PublishedSet>({
    {"cora", kPlanetoid, "data/ind.cora.*", "orrery dataset get cora"},
    {"citeseer", kPlanetoid, "data/ind.citeseer.*", "orrery dataset get citeseer"},
    {"pubmed", kPlanetoid, "data/ind.pubmed.*", "orrery dataset get pubmed"},
    {"ogbn-arxiv", kOgb, "arxiv.zip", kUnpack, true},
    {"ogbn-products", kOgb, "products.zip",
     "unpack; read as it is with symmetric (each edge is stored once)", true},
    {"ogbn-proteins", kOgb, "proteins.zip",
     "unpack; read as it is with symmetric (each edge is stored once)", true},
    {"ogbn-mag", kOgb, "mag.zip", kUnpack, true},
    {"reddit", kSaint, "reddit/{adj_full.npz,feats.npy,class_map.json,role.json}", kToNumpy},
    {"yelp", kSaint, "yelp/{adj_full.npz,feats.npy,class_map.json,role.json}", kToNumpy},
    {"flickr", kSaint, "flickr/{adj_full.npz,feats.npy,class_map.json,role.json}", kToNumpy},
    {"ppi", kSaint, "ppi/{adj_full.npz,feats.npy,class_map.json,role.json}", kToNumpy},
    {"amazon-photo", kShchur, "data/npz/amazon_electronics_photo.npz", kToNumpy},
    {"amazon-computers", kShchur, "data/npz/amazon_electronics_computers.npz", kToNumpy},
    {"coauthor-cs", kShchur, "data/npz/ms_academic_cs.npz", kToNumpy},
    {"chameleon", "Geom-GCN, https://github.com/graphdml-uiuc-jlu/geom-gcn",
     "new_data/chameleon, splits/", kToNumpy},
    {"musae-facebook", "MUSAE, https://github.com/benedekrozemberczki/MUSAE",
     "input/{edges,features,target}/facebook*", kToNumpy},
    {"cnr-2000", "SuiteSparse Matrix Collection, https://sparse.tamu.edu/LAW/cnr-2000",
     "cnr-2000.tar.gz (Matrix Market)", "unpack; cnr-2000.mtx is read as it is", true},
    {"com-orkut", kSnap, "com-orkut.ungraph.txt.gz", kReadAsIs, true},
    {"com-livejournal", kSnap, "com-lj.ungraph.txt.gz", kReadAsIs, true},
    {"com-friendster", kSnap, "com-friendster.ungraph.txt.gz", kReadAsIs, true},
    {"soc-livejournal1", kSnap, "soc-LiveJournal1.txt.gz", kReadAsIs, true},
    {"web-google", kSnap, "web-Google.txt.gz", kReadAsIs, true},
});

std::string normalised(std::string_view name) {
  std::string out(name);
  std::ranges::transform(out, out.begin(), [](unsigned char c) {
    return c == '_' ? '-' : static_cast<char>(std::tolower(c));
  });
  return out;
}

std::string searched_folders() {
  std::string text;
  for (const fs::path& folder : data_folders())
    text += (text.empty() ? "" : ", ") + folder.string();
  return text;
}

/// Names of the data sets that are here, and of published ones.
std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for (const fs::path& folder : data_folders()) {
    std::error_code unreadable;
    for (const auto& entry : fs::directory_iterator(folder, unreadable))
      names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);  // folders are read in any order
  for (const PublishedSet& set : kSets) names.emplace_back(set.name);
  return names;
}

std::string did_you_mean_set(const std::string& name) {
  const std::string close = published_set(name) == nullptr ? nearest(name, known_names()) : "";
  return close.empty() ? "" : fmt::format("did you mean '{}'? Otherwise ", close);
}

std::string where_to_get(const std::string& name) {
  if (const PublishedSet* set = published_set(name))
    return fmt::format("it comes from {}: {}; {}", set->source, set->files, set->convert);
  return "put a folder of NumPy files with meta.json there, an unpacked OGB set "
         "(https://ogb.stanford.edu), a SNAP edge list (https://snap.stanford.edu/data) or a "
         "Matrix Market file (https://sparse.tamu.edu)";
}

}  // namespace

const PublishedSet* published_set(std::string_view name) {
  const auto found = std::ranges::find(kSets, normalised(name), &PublishedSet::name);
  return found == kSets.end() ? nullptr : &*found;
}

std::vector<PublishedSet> published_sets() { return {kSets.begin(), kSets.end()}; }

std::vector<fs::path> data_folders() {
  std::vector<fs::path> folders;
  const char* variable = std::getenv("ORRERY_DATA");
  for (std::string_view rest = variable == nullptr ? "" : variable; !rest.empty();) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    if (!folder.empty()) folders.emplace_back(folder);
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
  }
  folders.emplace_back("data");
  return folders;
}

std::optional<fs::path> find_dataset(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const bool bare_name = path.find('/') == std::string::npos;
  std::error_code unreadable;  // an unreadable folder counts as empty
  if (bare_name)  // before the working directory, in which a result folder may have the same name
    for (const fs::path& folder : data_folders())
      if (fs::exists(folder / path, unreadable)) return folder / path;
  if (fs::exists(path, unreadable)) return path;
  return std::nullopt;
}

fs::path locate_dataset(const std::string& path) {
  if (auto found = find_dataset(path)) return *found;
  if (path.empty() || path.find('/') != std::string::npos)
    throw DataError(path, "", "expected a data set (file or folder), found nothing of that name");
  throw ConfigError(
      "dataset.path",
      fmt::format(
          "no data set '{}' here, in the folders of ORRERY_DATA or in ./data (searched: {}); "
          "{}{}",
          path, searched_folders(), did_you_mean_set(path), where_to_get(path)));
}

}  // namespace orrery
