#include "experiments/config/meanings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <utility>

#include "core/terminal/words.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

/// Words of other programs and papers, and ours with the same meaning. The first that fits the
/// place counts.
const std::map<std::string, Words>& synonyms() {
  static const std::map<std::string, Words> table{
      // what computes, and how ranks run
      {"gpu", {"cuda", "nccl"}},
      {"nvidia", {"cuda", "nccl"}},
      {"cuda", {"nccl"}},
      {"nccl", {"cuda"}},
      {"host", {"cpu"}},
      {"local", {"threads"}},
      {"processes", {"mpi", "ranks"}},
      {"openmpi", {"mpi"}},
      {"mpirun", {"mpi"}},
      {"simgrid", {"sim"}},
      {"simulate", {"sim", "run"}},
      {"simulator", {"sim"}},
      {"simulation", {"sim"}},
      {"analytic", {"model"}},
      {"equations", {"model"}},
      // how many
      {"cores", {"ranks"}},
      {"nprocs", {"ranks"}},
      {"np", {"ranks"}},
      {"n", {"ranks"}},
      {"procs", {"ranks"}},
      {"workers", {"ranks"}},
      {"world_size", {"ranks"}},
      {"machines", {"servers"}},
      {"nodes", {"vertices", "servers"}},
      {"num_nodes", {"vertices", "servers"}},
      {"num_edges", {"edges"}},
      {"num_parts", {"parts"}},
      {"partitions", {"parts"}},
      {"num_classes", {"classes"}},
      {"num_features", {"features"}},
      {"memory_limit", {"device_bytes"}},
      // training
      {"lr", {"learning_rate"}},
      {"rate", {"learning_rate"}},
      {"num_epochs", {"epochs"}},
      {"iterations", {"epochs"}},
      {"steps", {"epochs"}},
      {"wd", {"weight_decay"}},
      {"l2", {"weight_decay"}},
      {"optim", {"optimizer"}},
      {"optimiser", {"optimizer"}},
      {"criterion", {"loss"}},
      {"eval", {"eval_every"}},
      {"checkpoint", {"checkpoint_every"}},
      {"save_every", {"checkpoint_every"}},
      {"batch", {"batches"}},
      {"batch_size", {"batches"}},
      {"random_seed", {"seed"}},
      {"seeds", {"seed"}},
      // models and data
      {"hidden_dim", {"hidden"}},
      {"hidden_size", {"hidden"}},
      {"hidden_channels", {"hidden"}},
      {"width", {"hidden"}},
      {"num_layers", {"layers"}},
      {"depth", {"layers"}},
      {"dropout_rate", {"dropout"}},
      {"drop", {"dropout"}},
      {"normalization", {"normalisation"}},
      {"norm", {"normalisation", "layer_norm", "batch_norm"}},
      {"nonlinearity", {"activation"}},
      {"act", {"activation"}},
      {"graphsage", {"sage"}},
      {"data", {"dataset", "path"}},
      {"graph", {"dataset", "partition"}},
      {"net", {"model"}},
      {"network", {"model"}},
      {"undirected", {"symmetric"}},
      {"to_undirected", {"symmetric"}},
      {"partitioner", {"method", "partition"}},
      {"algorithm", {"method"}},
      {"fanouts", {"fanout"}},
      // commands
      {"train", {"run"}},
      {"start", {"run"}},
      {"exec", {"run"}},
      {"dryrun", {"plan"}},
      {"dry-run", {"plan"}},
      {"estimate", {"plan"}},
      {"profile", {"calibrate"}},
      {"benchmark", {"calibrate"}},
      {"cut", {"partition"}},
      {"plot", {"figure"}},
      {"figures", {"figure"}},
      {"page", {"report"}},
      {"html", {"report"}},
      {"compare", {"validate"}},
      {"list", {"help"}},
      {"commands", {"help"}},
      {"usage", {"help"}},
      {"manual", {"man"}},
      {"info", {"dataset"}},
      {"convert", {"dataset"}},
      {"generate", {"dataset"}},
      {"download", {"dataset", "get"}},
  };
  return table;
}

/// In lower case, with _ for -.
std::string plain(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::tolower(c));
  });
  return word;
}

bool holds(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// The candidate that a word of the table means.
std::string by_meaning(const std::string& word, const Words& candidates) {
  for (const std::string& form : {word, plain(word)})
    if (const auto found = synonyms().find(form); found != synonyms().end())
      for (const std::string& ours : found->second)
        if (holds(candidates, ours)) return ours;
  return "";
}

/// The candidate that equals the word, in any case and spelling, or that the word means.
std::string same(const std::string& word, const Words& candidates) {
  return holds(candidates, plain(word)) ? plain(word) : by_meaning(word, candidates);
}

/// A mistyped word of the table: "trian" for "train".
std::string by_mistyped_meaning(const std::string& word, const Words& candidates) {
  constexpr std::size_t kShortest = 5;  // shorter words are near to too many
  if (word.size() < kShortest) return "";
  Words known;
  for (const auto& [theirs, ours] : synonyms())
    if (theirs.size() >= kShortest) known.push_back(theirs);
  return by_meaning(nearest(word, known), candidates);
}

/// Calls with the path and the schema of every key below.
void visit(const Json& schema, const std::string& path,
           const std::function<void(const std::string&, const Json&)>& call) {
  if (!schema.contains("properties")) return;
  for (const auto& [key, property] : schema["properties"].items()) {
    const std::string here = path.empty() ? key : fmt::format("{}.{}", path, key);
    call(here, property);
    visit(property, here, call);
  }
}

/// Keys with fewer components come first.
Words by_depth(Words paths) {
  std::stable_sort(paths.begin(), paths.end(), [](const std::string& a, const std::string& b) {
    return std::count(a.begin(), a.end(), '.') < std::count(b.begin(), b.end(), '.');
  });
  return paths;
}

std::string last_component(const std::string& path) {
  const auto dot = path.rfind('.');
  return dot == std::string::npos ? path : path.substr(dot + 1);
}

}  // namespace

std::string meant(const std::string& word, const Words& candidates) {
  if (word.empty()) return "";
  std::string found = same(word, candidates);
  if (found.empty()) found = nearest(word, candidates);
  return found.empty() ? by_mistyped_meaning(word, candidates) : found;
}

std::string did_you_mean(const std::string& word, const Words& candidates) {
  const std::string close = meant(word, candidates);
  return close.empty() ? "" : fmt::format(" Did you mean \"{}\"?", close);
}

Words key_paths(const Json& schema) {
  Words paths;
  visit(schema, "", [&](const std::string& path, const Json&) { paths.push_back(path); });
  return by_depth(std::move(paths));
}

Words paths_meant(const Json& schema, const std::string& word) {
  const Words paths = key_paths(schema);
  Words keys;
  for (const std::string& path : paths) keys.push_back(last_component(path));
  const std::string key = same(word, keys);
  Words found;
  for (const std::string& path : paths)
    if (!key.empty() && last_component(path) == key) found.push_back(path);
  return found;
}

Words settings_meant(const Json& schema, const std::string& word) {
  Words exact, others;
  visit(schema, "", [&](const std::string& path, const Json& property) {
    if (!property.contains("enum")) return;
    const auto values = property["enum"].get<Words>();
    const bool has = holds(values, word);
    const std::string value = has ? word : by_meaning(word, values);
    if (!value.empty()) (has ? exact : others).push_back(fmt::format("{}={}", path, value));
  });
  return by_depth(exact.empty() ? others : exact);
}

}  // namespace orrery
