#include "experiments/config/experiment.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "core/base/error.hpp"
#include "core/graph/read/lookup.hpp"
#include "core/model/layer_type.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/partition/partition_options.hpp"
#include "core/strategy/train/train.hpp"
#include "core/terminal/plain_text.hpp"
#include "experiments/config/cluster_file.hpp"
#include "experiments/config/keys.hpp"
#include "experiments/config/place_ranks.hpp"
#include "experiments/config/plugins.hpp"
#include "experiments/config/profile_file.hpp"
#include "experiments/config/strategy_keys.hpp"
#include "experiments/config/sweep/combinations.hpp"
#include "experiments/config/sweep/key_path.hpp"
#include "experiments/config/validate_json.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kStandardInput = "-";  // given as the name of a file

constexpr int kMostSimulated = 4096;
constexpr int kMostReal = 1024;  // they may be threads of one process

/// `words`: how the file says how many ranks there are.
void require_few(int ranks, const std::string& words, const std::string& backend) {
  const bool real = backend != "sim" && backend != "model";
  if (ranks > kMostSimulated)
    throw ConfigError("cluster", fmt::format("{} are more than {}", words, kMostSimulated));
  if (real && ranks > kMostReal)
    throw ConfigError("cluster",
                      fmt::format("{} are more than the {} that a run may have; up to {} "
                                  "are simulated, with backend \"sim\"",
                                  words, kMostReal, kMostSimulated));
}

/// Errors    ConfigError at `path`, if a key or a value is no line of plain text
void require_plain(const std::string& text, const std::string& path, const char* which) {
  if (has_control_characters(text))
    throw ConfigError(path, fmt::format("the {} has control characters; expected one line of plain "
                                        "text",
                                        which));
  const std::string quoted =
      Json(text).dump(-1, ' ', false, nlohmann::detail::error_handler_t::ignore);
  if (Json::parse(quoted) != Json(text))
    throw ConfigError(path, fmt::format("the {} is not valid UTF-8", which));
}

/// The value after "=": JSON, else the text itself.
Json json_or_text(const std::string& text, const std::string& path) {
  if (Json::accept(text)) return parse_json(text, "--set " + path);
  require_plain(text, path, "value");
  return text;
}

/// Applies "key.path=value". It takes the place of a list of values that a sweep has for this key.
void apply_override(Json& root, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0)
    throw ConfigError("--set", fmt::format("found \"{}\", expected key.path=value", assignment));
  const std::string path = assignment.substr(0, equals), text = assignment.substr(equals + 1);
  require_plain(path, "--set", "key");
  const Json value = json_or_text(text, path);
  const bool sweeps = root.contains("sweep") && root["sweep"].is_object();
  if (sweeps) {
    for (const std::string& swept : swept_keys(root["sweep"])) {
      const bool by_case = swept_by_case(root["sweep"], swept);
      if (!keys_meet(path, swept) || (path == swept && !by_case)) continue;
      const std::string instead =
          by_case ? "change sweep.cases" : fmt::format("set sweep.{} or {} itself", swept, swept);
      throw ConfigError("--set", fmt::format("{} would be undone by the sweep over {}; {}", path,
                                             swept, instead));
    }
  }
  set_path(root, path, value);
  if (sweeps && path.rfind("sweep", 0) != 0) {
    root["sweep"].erase(path);  // one value instead of the list
    if (root["sweep"].empty()) root.erase("sweep");
  }
}

void set_features(DatasetOptions& o, const Json& d) {
  if (!d.contains("features")) return;
  const Json& f = d["features"];
  o.random_features = optional<std::int64_t>(f, "random");
  o.feature_files = f.value("files", std::string());
}

DatasetOptions dataset_options(const Json& d, std::uint64_t seed) {
  DatasetOptions o;
  o.seed = seed;
  if (d.contains("parts") || d.contains("statistics")) return o;
  o.row_normalise = optional<bool>(d, "row_normalise");
  o.half_features = d.value("features_type", "float32") == "float16";
  if (d.contains("edge_list")) {
    const Json& list = d["edge_list"];
    o.edge_list = EdgeListOptions{list["files"].get<std::vector<std::string>>(), list["format"],
                                  optional<std::int64_t>(list, "vertices")};
    o.symmetric = list["symmetric"];
    set_features(o, d);
    return o;
  }
  o.reorder = d["reorder"];
  o.magnify = d["magnify"];
  o.training_share = optional<double>(d, "training_share");
  if (d.contains("path")) {
    o.path = d["path"];
    o.format = d["format"];
    o.symmetric = d["symmetric"];
    o.random_split = d["split"] == "random";
    o.train_on_rest = d["split"] == "train_on_rest";
    o.missing_features = d.value("missing_features", std::string());
    set_features(o, d);
    return o;
  }
  o.generator = d["generate"];
  o.generate_vertices = d.value("vertices", std::int64_t{0});  // absent: counted in the degree file
  o.generate_edges = d.value("edges", std::int64_t{0});
  o.generate_classes = d["classes"];
  o.generate_communities = d.value("communities", o.generate_communities);
  o.generate_features = d["features"];
  o.feature_signal = d.value("feature_signal", o.feature_signal);
  o.mixing = d.value("mixing", o.mixing);
  o.exponent = d.value("exponent", o.exponent);
  o.clustering = d.value("clustering", o.clustering);
  o.degree_file = d.value("degree_file", o.degree_file);
  return o;
}

std::optional<GraphStatistics> graph_statistics(const Json& d, const std::string& name) {
  if (!d.contains("statistics")) return std::nullopt;
  const Json& s = d["statistics"];
  GraphStatistics graph;
  graph.name = name;
  graph.vertices = s["vertices"];
  graph.edges = s["edges"];
  graph.features = s["features"];
  graph.classes = s["classes"];
  graph.skew = s["skew"];
  graph.symmetric = s["symmetric"];
  graph.multilabel = s["multilabel"];
  graph.training_vertices = s["training_vertices"];
  if (s.contains("training_edges")) graph.training_edges = s["training_edges"].get<std::int64_t>();
  return graph;
}

/// What a simulation needs, and what only a simulation has.
void complete_simulation(Json& root) {
  const Json& c = root["cluster"];
  const std::string backend = root["backend"];
  const bool real = backend != "sim" && backend != "model";
  if (!real && !c.contains("file"))
    throw ConfigError(
        "cluster.file",
        fmt::format("backend {} needs hardware: a cluster file, or one of those that ship: {}",
                    backend, fmt::join(shipped_clusters(), ", ")));
  if (real && c.value("hosts", "per_rank") == "per_server")
    throw ConfigError("cluster.hosts", fmt::format("\"per_server\" is for simulations; with "
                                                   "backend {} each rank has its own host",
                                                   backend));
  if (real && c.contains("link_factors"))
    throw ConfigError("cluster.link_factors",
                      fmt::format("is for simulations; with backend {} links are as they are: "
                                  "leave it out",
                                  backend));
  Json& s = root["simulation"];
  const int epochs = root["train"]["epochs"];
  // At least a whole period of the strategy (from one averaging of models, or one broadcast of
  // rows, to the next), besides the first epoch. With a stale halo the second epoch waits for
  // nothing, because the first one was exact. Only later epochs show what travels beside them. With
  // delayed sums none arrives in the first period, and totals only in the third.
  const Json& strategy = root["strategy"];
  if (const int delay = strategy.value("delay", 0); delay >= epochs && delay > 0)
    throw ConfigError("strategy.delay",
                      fmt::format("found {}, expected less than train.epochs, which is {}: no sum "
                                  "would arrive",
                                  delay, epochs));
  const int staleness = strategy.value("staleness", 0);
  const bool stale_halo = staleness > 0 && strategy["type"] == "full_graph";
  const int usual = std::max({3, strategy.value("interval", 1) + 1, staleness + 2,
                              stale_halo ? 6 : 0, 4 * strategy.value("delay", 0)});
  if (!s.contains("epochs")) s["epochs"] = std::min(usual, epochs);
  if (s["epochs"] > epochs)
    throw ConfigError("simulation.epochs", fmt::format("found {}, expected at most train.epochs, "
                                                       "which is {}",
                                                       s["epochs"].dump(), epochs));
  for (const char* key : {"batches", "accesses"})
    if (s.contains(key) && s[key] != Json(false) && strategy["type"] != "mini_batch")
      throw ConfigError(
          fmt::format("simulation.{}", key),
          fmt::format("is of batches that are drawn, and {} has none: leave it out, or "
                      "set strategy.type to \"mini_batch\"",
                      strategy["type"].get<std::string>()));
  for (const auto& [kind, factor] : s["scale"].items())
    require_scalable("simulation.scale." + kind, kind);
  if (s["sensitivity"] && backend != "sim")
    throw ConfigError(
        "simulation.sensitivity",
        fmt::format("replays simulations, and the backend is {}: set it to false", backend));
}

void require_possible_training_edges(const Json& dataset) {
  const char* path = "dataset.statistics.training_edges";
  const Json& s = dataset["statistics"];
  const auto edges = s["training_edges"].get<std::int64_t>(),
             vertices = s["training_vertices"].get<std::int64_t>(),
             all = s["edges"].get<std::int64_t>();
  if (!dataset["inductive"])
    throw ConfigError(path, "is for dataset.inductive: set that to true, or leave this out");
  if (edges > all || static_cast<double>(edges) >
                         static_cast<double>(vertices) * static_cast<double>(vertices - 1))
    throw ConfigError(path,
                      fmt::format("found {}, but {} training vertices have at most {} of the {} "
                                  "edges among them",
                                  edges, vertices, std::min(all, vertices * (vertices - 1)), all));
}

/// Impossible statistics, and settings that need more than statistics. (A strategy that always
/// needs more is reported when it is planned.)
void complete_statistics(Json& root) {
  Json& s = root["dataset"]["statistics"];
  const auto vertices = s["vertices"].get<std::int64_t>(), edges = s["edges"].get<std::int64_t>();
  if (static_cast<double>(edges) >
      static_cast<double>(vertices) * static_cast<double>(vertices - 1))
    throw ConfigError("dataset.statistics.edges",
                      fmt::format("found {}, but {} vertices have at most {} edges without "
                                  "self-loops and duplicates",
                                  edges, vertices, vertices * (vertices - 1)));
  if (!s.contains("training_vertices")) s["training_vertices"] = (7 * vertices + 9) / 10;
  if (s["training_vertices"] > vertices)
    throw ConfigError("dataset.statistics.training_vertices",
                      fmt::format("found {}, but there are {} vertices",
                                  s["training_vertices"].dump(), vertices));
  if (s.contains("training_edges")) require_possible_training_edges(root["dataset"]);
  const bool permuted =
      root["strategy"].value("permute", false) || root["partition"]["method"] == "random";
  if (root["strategy"].contains("permute") && !permuted)
    throw ConfigError("strategy.permute",
                      "dataset.statistics needs true: counts are enough for equal blocks of a "
                      "random permutation, not for other cuts");
}

/// Completes the keys that depend on other keys of the training.
void complete_training(Json& t) {
  if (t.contains("schedule")) {
    Json& schedule = t["schedule"];
    const bool ends = schedule["type"] == "linear" || schedule["type"] == "cosine";
    if (ends && !schedule.contains("epochs")) schedule["epochs"] = t["epochs"];
    if (ends && schedule["epochs"] <= schedule["warmup"])
      throw ConfigError("train.schedule.epochs",
                        fmt::format("found {}, expected more than the {} epochs of warmup",
                                    schedule["epochs"].dump(), schedule["warmup"].dump()));
  }
  const bool scored = t.value("patience", 0) > 0 || t.contains("metrics");
  if ((scored || t.contains("best_by")) && t["eval_every"] == 0)
    throw ConfigError("train.eval_every",
                      "found 0, but train.patience, train.best_by and train.metrics go by "
                      "validation accuracies: set it to 1 or more");
  if (scored && !t.contains("keep_best")) t["keep_best"] = true;
  if (t.contains("metrics") && !t["keep_best"])
    throw ConfigError("train.keep_best", "found false, but train.metrics scores what it keeps");
  if (t.contains("class_weights") && t["class_weights"].is_string() &&
      t["class_weights"] != "balanced")
    throw ConfigError("train.class_weights",
                      fmt::format("found {}, expected \"balanced\" or a number for each class",
                                  t["class_weights"].dump()));
}

/// Refuses keys about labels and splits of vertices, and graphs from which no link can be taken.
void require_possible_links(const Json& root) {
  const auto refuse = [](const char* key, const char* why) { throw ConfigError(key, why); };
  const Json &d = root["dataset"], &links = root["links"];
  if (d.contains("parts") || d.contains("statistics") || d.contains("edge_list"))
    refuse("links", "are held out of a graph in memory: use dataset.path or dataset.generate");
  if (d.value("inductive", false))
    refuse("dataset.inductive",
           "is of vertices that are trained on, not of links: set it to false");
  if (d.value("split", "published") != "published" || d.contains("training_share"))
    refuse(
        d.contains("training_share") ? "dataset.training_share" : "dataset.split",
        "is of vertices that are trained on; links.validation and links.test say which links are "
        "held out: leave it out");
  if (d.value("edge_weights", false))
    refuse("dataset.edge_weights",
           "belong to the edges of the whole graph, and some of them are held out as links: set it "
           "to false");
  for (const char* key : {"metrics", "class_weights", "best_by"})
    if (root["train"].contains(key))
      throw ConfigError(fmt::format("train.{}", key),
                        "is about the classes of vertices, and links have none: leave it out");
  if (root["train"]["loss"] != "softmax")
    refuse("train.loss", "is of labels; that of links is links.loss: leave it out");
  if (links["exclude"] == "batch" && root["strategy"]["type"] == "full_graph")
    refuse("links.exclude",
           "\"batch\" is of what batches draw, and full_graph has none, nor anything left to "
           "aggregate without the links that it trains on: use \"none\", strategy.type "
           "mini_batch, or \"training\" with links.relation");
  if (links["loss"] == "margin" && root["train"]["checkpoint_steps"] != 0)
    refuse("train.checkpoint_steps",
           "keeps the losses of steps apart, which links.loss margin sums in single precision: set "
           "it to 0, and train.checkpoint_every");
  for (const Json& k : links["hits"])
    if (k > links["held_out_negatives"])
      throw ConfigError("links.hits",
                        fmt::format("found {}, but a held-out link stands among {} pairs: raise "
                                    "links.held_out_negatives, or lower it",
                                    k.dump(), links["held_out_negatives"].dump()));
}

/// Combinations that the schema cannot express, and defaults that depend on other keys.
void complete(Json& root, int mpi_ranks) {
  Json& d = root["dataset"];
  const int sources =
      static_cast<int>(d.contains("path")) + static_cast<int>(d.contains("generate")) +
      static_cast<int>(d.contains("parts")) + static_cast<int>(d.contains("statistics")) +
      static_cast<int>(d.contains("edge_list"));
  if (sources != 1)
    throw ConfigError("dataset", sources == 0
                                     ? "needs \"path\" (a data set on disk), \"generate\" (a "
                                       "generated graph), \"parts\" (written by orrery "
                                       "partition), \"statistics\" (only counts, nothing to "
                                       "train on) or \"edge_list\" (files that orrery infer "
                                       "reads in ranges)"
                                     : "\"path\", \"generate\", \"parts\", \"statistics\" and "
                                       "\"edge_list\" exclude each other");
  if (d.contains("edge_list") && d["edge_list"]["files"].is_string())
    d["edge_list"]["files"] = Json::array({d["edge_list"]["files"]});
  if (d.contains("statistics")) complete_statistics(root);
  if (d.contains("parts")) {
    if (d.contains("features"))
      throw ConfigError("dataset.features",
                        "the parts have their own; give this to orrery "
                        "partition");
    const Json& p = root["partition"];
    if (p["method"] != "block" || p["hops"] != 1 || p["parts"] != "auto" ||
        p["cross_edges"] != "drop" || p.contains("working_bytes") ||
        root["strategy"].value("permute", false))
      throw ConfigError("partition",
                        "the parts are cut already: leave partition and "
                        "strategy.permute out");
  }
  for (const auto& [of_edges, words] :
       {std::pair{"edge_weights", "weights"}, std::pair{"edge_features", "features"}})
    if (d.value(of_edges, false))
      for (const char* key : {"reorder", "inductive", "magnify"})
        if (const Json& asked = d[key]; asked != "none" && asked != false && asked != 1)
          throw ConfigError(fmt::format("dataset.{}", key),
                            fmt::format("found {}, which has no {} of edges: leave it out, or "
                                        "dataset.{}",
                                        asked.dump(), words, of_edges));
  const bool read = d.contains("path") || d.contains("edge_list");
  if (d.contains("features") && d["features"].is_object() != read)
    throw ConfigError("dataset.features",
                      read ? "for data on disk expected {\"random\": width} or {\"files\": "
                             "folder}"
                           : "with \"generate\" expected the width, an integer");
  if (d.contains("features") && d["features"].is_object()) {
    const Json& f = d["features"];
    if (f.contains("random") == f.contains("files"))
      throw ConfigError("dataset.features", "expected one of \"random\" and \"files\"");
    if (f.contains("files") && d.value("features_type", "float32") == "float16")
      throw ConfigError("dataset.features_type",
                        "dataset.features.files has float32 rows, which are used unchanged: "
                        "float16 does not go with it");
    if (f.contains("files") && d.value("row_normalise", false))
      throw ConfigError("dataset.row_normalise",
                        "dataset.features.files has rows that are used unchanged: normalise them "
                        "before you write them");
    if (f.contains("files") && d.value("reorder", "none") != "none")
      throw ConfigError("dataset.reorder",
                        "renumbers vertices, but dataset.features.files has the old numbers: "
                        "leave one of the two out");
  }
  if (d.contains("training_share") && d.contains("path") && d["split"] != "random")
    throw ConfigError("dataset.training_share",
                      "applies to a drawn split: set dataset.split to \"random\", or leave it out");
  if (d.contains("generate") && !d.contains("features")) d["features"] = 64;
  if (root["partition"]["method"] == "file" && d.value("reorder", "none") != "none")
    throw ConfigError(
        "partition.file",
        "holds owners by vertex number, which dataset.reorder changes; use \"none\" there");
  if (root["partition"]["method"] == "file" && !root["partition"].contains("file"))
    throw ConfigError("partition.file", "is required with \"method\": \"file\"");
  if (root["strategy"].value("permute", false) && root["partition"]["method"] != "block")
    throw ConfigError("strategy.permute",
                      "replaces the partition, so partition.method must stay \"block\"");
  complete_strategy(root);
  Json& c = root["cluster"];
  if (c.contains("ranks") && c.contains("servers"))
    throw ConfigError("cluster", "\"ranks\" and \"servers\" exclude each other");
  complete_simulation(root);
  if (!c.contains("file") && c.contains("servers") && !c.contains("ranks_per_server"))
    c["ranks_per_server"] = 1;
  if (!c.contains("file") && !c.contains("servers") && !c.contains("ranks"))
    c["ranks"] = root["backend"] == "mpi" || root["backend"] == "nccl" ? mpi_ranks : 1;
  if (c.contains("servers") && c.contains("ranks_per_server")) {
    const int servers = c["servers"], each = c["ranks_per_server"];
    require_few(servers * each, fmt::format("{} servers x {} ranks", servers, each),
                root["backend"]);
  }
  if (root.contains("links")) {
    if (!root["links"].contains("exclude"))
      root["links"]["exclude"] = root["strategy"]["type"] == "mini_batch" ? "batch" : "none";
    require_possible_links(root);
  }
  if (!root["train"].contains("weight_decay_on"))
    root["train"]["weight_decay_on"] = root["model"]["type"] == "gcn" ? "first" : "all";
  // Patience keeps the best model, where a model alone means something.
  Json& train = root["train"];
  if (root["strategy"].value("learn_features", false) && !train.contains("metrics") &&
      !train.contains("keep_best") && train.value("patience", 0) > 0)
    train["keep_best"] = false;
  complete_training(train);
}

std::int64_t bytes_at(const Json& room, const char* key, const std::string& path) {
  return room[key].is_string() ? parse_bytes(room[key], path) : room[key].get<std::int64_t>();
}

/// Where the ranks are and how much memory each has.
void place(Experiment& e, Json& root, const fs::path& folder, ClusterCache& clusters) {
  Json& c = root["cluster"];
  if (c.contains("file")) {
    e.cluster = cluster_of(c, folder, clusters);
    if (c.contains("link_factors")) scale_links(*e.cluster, c["link_factors"]);
    if (c.contains("host_bytes"))
      e.cluster->host.memory_bytes = bytes_at(c, "host_bytes", "cluster.host_bytes");
    e.devices = deal_ranks(*e.cluster, c);
    e.device_bytes = memory_of_a_rank(*e.cluster, e.devices);
    e.host_per_server = c["hosts"] == "per_server";
  } else {
    e.servers = c.value("servers", 1);
    e.ranks_per_server = c.contains("servers") ? c["ranks_per_server"] : c["ranks"];
  }
  require_few(e.ranks(), fmt::format("{} ranks", e.ranks()), root["backend"]);
  if (c.contains("device_bytes"))
    e.device_bytes = bytes_at(c, "device_bytes", "cluster.device_bytes");
}

void set_links(Experiment& e, const Json& root) {
  if (!root.contains("links")) return;
  const Json& l = root["links"];
  LinkConfig& config = e.links.emplace();
  config.width = l["width"];
  config.decoder = pick<Decoder>(
      l["decoder"],
      {{"dot", Decoder::dot}, {"distmult", Decoder::distmult}, {"mlp", Decoder::mlp}});
  config.decoder_hidden = l.value("decoder_hidden", config.decoder_hidden);
  config.loss = pick<PairLoss>(
      l["loss"], {{"cross_entropy", PairLoss::cross_entropy}, {"margin", PairLoss::margin}});
  config.margin = l.value("margin", config.margin);
  config.negatives = pick<NegativesFrom>(l["negatives"], {{"uniform", NegativesFrom::uniform},
                                                          {"joint", NegativesFrom::joint},
                                                          {"in_batch", NegativesFrom::in_batch},
                                                          {"local", NegativesFrom::local}});
  config.relation = l.value("relation", "");
  config.negatives_per_link = l["negatives_per_link"];
  const std::map<std::string, Corrupted> ends{{"destination", Corrupted::destination},
                                              {"both", Corrupted::both}};
  config.corrupted = pick<Corrupted>(l.value("corrupted", "destination"), ends);
  config.exclude = pick<ExcludedLinks>(l["exclude"], {{"none", ExcludedLinks::none},
                                                      {"batch", ExcludedLinks::batch},
                                                      {"training", ExcludedLinks::training}});
  config.validation = l["validation"];
  config.test = l["test"];
  config.held_out_negatives = l["held_out_negatives"];
  config.held_out_corrupted = pick<Corrupted>(l["held_out_corrupted"], ends);
  config.hits = l["hits"].get<std::vector<int>>();
}

void set_dataset(Experiment& e, const Json& d) {
  e.dataset = dataset_options(d, e.seed);
  e.parts = d.value("parts", std::string());
  e.statistics = graph_statistics(d, e.name);
  e.inductive = d.value("inductive", false);
  e.edge_weights = d.value("edge_weights", false);
  e.edge_features = d.value("edge_features", false);
}

/// The words of model.order.
std::map<std::string, LayerOrder> layer_orders() {
  return {{"auto", LayerOrder::automatic},
          {"aggregate_first", LayerOrder::aggregate_first},
          {"transform_first", LayerOrder::transform_first},
          {"aggregate_both", LayerOrder::aggregate_both}};
}

ModelConfig model_config(const Json& m) {
  ModelConfig model;
  model.type = model_type(m["type"]);
  model.layers = m["layers"];
  model.hidden = m["hidden"];
  model.dropout = m["dropout"];
  model.bias = m["bias"];
  model.activation = pick<Activation>(m.value("activation", "relu"),
                                      {{"relu", Activation::relu}, {"elu", Activation::elu}});
  model.layer_norm = m.value("layer_norm", false);
  model.batch_norm = m.value("batch_norm", false);
  model.residual = m.value("residual", false);
  model.dense_layers = m.value("dense_layers", 0);
  model.inner_layers = m.value("inner_layers", 0);
  model.recompute = m.value("recompute", 0);
  model.sparse_input = m.value("sparse_input", false);
  model.bases = m.value("bases", 0);
  model.self_by_type = m.value("self_weights", "shared") == "by_type";
  model.projection = m.value("projection", std::int64_t{0});
  model.blocks = m.value("blocks", 0);
  if (m.contains("heads")) {
    model.heads = m["heads"];
    model.output_heads = m["output_heads"];
    model.attention = pick<Attention>(m["attention"],
                                      {{"additive", Attention::additive}, {"dot", Attention::dot}});
    model.attention_dropout = m["attention_dropout"];
    model.projection_dropout = m.value("projection_dropout", 0.0);
  }
  if (m.contains("order")) model.order = pick<LayerOrder>(m["order"], layer_orders());
  if (m.contains("normalisation"))
    model.normalisation =
        pick<Normalisation>(m["normalisation"], {{"auto", Normalisation::automatic},
                                                 {"symmetric", Normalisation::symmetric},
                                                 {"row", Normalisation::row}});
  return model;
}

TrainConfig train_config(const Json& t, std::uint64_t seed) {
  TrainConfig train;
  train.epochs = t["epochs"];
  train.optimizer = pick<OptimizerType>(
      t["optimizer"], {{"adam", OptimizerType::adam}, {"sgd", OptimizerType::sgd}});
  train.learning_rate = t["learning_rate"];
  train.weight_decay = t["weight_decay"];
  train.weight_decay_on = pick<WeightDecayOn>(
      t["weight_decay_on"], {{"first", WeightDecayOn::first}, {"all", WeightDecayOn::all}});
  train.loss =
      pick<LossKind>(t["loss"], {{"softmax", LossKind::softmax}, {"sigmoid", LossKind::sigmoid}});
  train.eval_every = t["eval_every"];
  train.bucket_bytes = bytes_at(t, "bucket_bytes", "train.bucket_bytes");
  if (t.contains("schedule")) {
    const Json& s = t["schedule"];
    train.schedule = {
        pick<RateSchedule::Type>(s["type"], {{"constant", RateSchedule::Type::constant},
                                             {"step", RateSchedule::Type::step},
                                             {"linear", RateSchedule::Type::linear},
                                             {"cosine", RateSchedule::Type::cosine}}),
        s["warmup"],
        s.value("epochs", 1),
        s.value("every", 1),
        s.value("factor", 1.0),
        s.value("least", 0.0)};
  }
  if (const Json weights = t.value("class_weights", Json()); weights.is_string())
    train.balance_classes = true;
  else if (weights.is_array())
    train.class_weights = weights.get<std::vector<double>>();
  train.best_by = pick<BestBy>(
      t.value("best_by", "accuracy"),
      {{"accuracy", BestBy::accuracy}, {"accuracy_and_loss", BestBy::accuracy_and_loss}});
  train.patience = t.value("patience", 0);
  train.keep_best = t.value("keep_best", false);
  train.seed = seed;
  return train;
}

/// The strategy alone; set_ranks() adds what the cluster says.
void set_strategy(Experiment& e, const Json& root) {
  const Json& s = root["strategy"];
  e.strategy = strategy_config(root);
  require_possible(e.strategy, e.model);
  if (!e.metrics.empty() && e.strategy.learned)
    throw ConfigError("train.metrics",
                      "are scored on the features of the data set, and strategy.learn_features "
                      "trains others: leave one of them out");
  if (e.train.keep_best && e.strategy.learned)
    throw ConfigError(
        "train.keep_best",
        "keeps the weights of the model alone, which mean nothing without the features "
        "that strategy.learn_features learned with them: use train.checkpoint_every");
  if (e.checkpoint_every > 0 || e.checkpoint_steps > 0) require_resumable(e.strategy);
  if (e.checkpoint_steps > 0 && e.strategy.type == "model_averaging" &&
      e.strategy.averaging == Averaging::model)
    throw ConfigError("train.checkpoint_steps",
                      "models of parts take their steps independently, so checkpoints are "
                      "possible only between epochs: set it to 0, and use train.checkpoint_every");
  e.fits_depth = s.value("depth", Json()) == "fit";
  e.fits_batches = s.value("batches", Json()) == "fit";
  const Json batch = s.value("batch", Json());
  e.fits_batch = batch == "fit"         ? BatchFit::any
                 : batch == "fit_drawn" ? BatchFit::drawn
                                        : BatchFit::none;
}

/// The method, the number of parts, and what parts hold (hops, cross edges).
void set_partition(Experiment& e, const Json& p) {
  e.partition.method = e.strategy.permute ? "random" : p["method"].get<std::string>();
  e.partition.file = p.value("file", std::string());
  e.partition.seed = e.seed;
  if (p["parts"].is_string() && p["parts"] != "auto")
    throw ConfigError("partition.parts",
                      fmt::format("found {}, expected a number or \"auto\"", p["parts"].dump()));
  e.partition.parts = p["parts"].is_string() ? 0 : p["parts"].get<int>();
  if (p.contains("working_bytes"))
    e.partition.working_bytes = bytes_at(p, "working_bytes", "partition.working_bytes");
  e.partition.hops = p["hops"];
  e.partition.one_sided = p["cross_edges"] == "one_side";
  if (e.partition.one_sided && e.partition.hops != 0)
    throw ConfigError("partition.cross_edges",
                      "is for parts without neighbours; otherwise both parts hold the edge: set "
                      "partition.hops to 0, or leave it out");
  if (e.strategy.cross_edges != CrossEdges::as_cut) return;
  const bool always = e.strategy.type == "vertex_cut";
  const std::string who = always ? "vertex_cut" : "\"as_cut\"";
  if (!e.parts.empty() || !assigns_edges(e.partition.method))
    throw ConfigError(always ? "partition.method" : "strategy.cross_edges",
                      who +
                          " trains on the fragments of an edge partitioner: set "
                          "partition.method to dbh, powergraph, hdrf or 2ps-l");
  if (e.inductive)
    throw ConfigError(always ? "strategy.type" : "strategy.cross_edges",
                      who +
                          " fixes the edges of the training, but dataset.inductive also "
                          "evaluates with others: leave one of the two out");
}

/// Whether all servers have the same number of ranks, one server's before the next one's.
bool in_server_blocks(const Experiment& e) {
  const Placement placement = e.placement();
  if (e.ranks() % placement.servers() != 0) return false;
  const int ranks = e.ranks() / placement.servers();
  for (int r = 0; r < e.ranks(); ++r)
    if (placement.server_of(r) != r / ranks) return false;
  return true;
}

/// The keys of single partitioning algorithms.
void set_algorithm(Experiment& e, const Json& p) {
  PartitionOptions& o = e.partition;
  o.numbers = numbers_of(o.method, p);
  o.ptscotch.processes = p.value("processes", o.ptscotch.processes);
  o.metis.volume = p.value("objective", std::string("cut")) == "volume";
  if (p.contains("constraints")) {
    o.metis.constraints.clear();
    for (const Json& name : p["constraints"])
      o.metis.constraints.push_back(pick<Constraint>(name, {{"work", Constraint::work},
                                                            {"vertices", Constraint::vertices},
                                                            {"edges", Constraint::edges},
                                                            {"training", Constraint::training},
                                                            {"validation", Constraint::validation},
                                                            {"test", Constraint::test},
                                                            {"types", Constraint::types}}));
  }
  if (p.contains("balance"))
    for (double* balance :
         {&o.metis.balance, &o.ptscotch.balance, &o.powergraph.balance, &o.hdrf.balance,
          &o.two_ps_l.balance, &o.spring.balance, &o.ldg.balance, &o.fennel.balance})
      *balance = p["balance"];
  o.hdrf.lambda = p.value("lambda", o.hdrf.lambda);
  o.fennel.gamma = p.value("gamma", o.fennel.gamma);
  o.two_ps_l.max_volume = p.value("cluster_volume", o.two_ps_l.max_volume);
  o.spring.max_volume = p.value("max_volume", o.spring.max_volume);
  o.spring.refine = p.value("refine", o.spring.refine);
  o.spring.persistent = p.value("merge", std::string()) == "persistent";
  if (p.value("levels", 1) == 1) return;
  const int parts = parts_for(e.strategy, e.ranks()), servers = e.placement().servers();
  if (servers == 1 || parts != e.ranks() || !in_server_blocks(e))
    throw ConfigError("partition.levels",
                      fmt::format("2 needs a part for every rank and several servers of equally "
                                  "many consecutive ranks, found {} parts, {} ranks, {} servers",
                                  parts, e.ranks(), servers));
  e.partition.metis.servers = servers;
}

/// What a strategy knows about the ranks: their number and, if it asks, which share a server.
void set_ranks(Experiment& e) {
  const StrategyInfo& strategy = info_of(e.strategy);
  if (strategy.deals_parts) e.strategy.parts = e.partition.parts;
  e.strategy.workers = e.ranks();
  if (!strategy.by_server) return;
  const int servers = e.placement().servers();
  if (!in_server_blocks(e))
    throw ConfigError("cluster", fmt::format("{} needs servers of equally many consecutive ranks, "
                                             "found {} ranks on {} servers",
                                             strategy.name, e.ranks(), servers));
  e.strategy.ranks_per_server = e.ranks() / servers;
}

/// SimGrid is fast enough up to this number of ranks.
constexpr int kMostRanksOfSimgrid = 64;

SimulationConfig simulation_config(const Json& s, const Experiment& e) {
  SimulationConfig config;
  config.epochs = s["epochs"];
  config.simgrid =
      s["engine"] == "auto" ? e.ranks() <= kMostRanksOfSimgrid : s["engine"] == "simgrid";
  config.library = s["library"];
  if (config.library == "auto" && e.cluster)
    config.library = !has_only_cpus(*e.cluster)    ? "nccl"
                     : e.placement().servers() > 1 ? "mpi"
                                                   : "threads";
  config.algorithm = s["algorithm"];
  config.window = s["window"];
  config.channels = s["channels"];
  config.chunk_bytes = bytes_at(s, "chunk_bytes", "simulation.chunk_bytes");
  config.profile = s.value("profile", std::string());
  config.scale = s["scale"].get<std::map<std::string, double>>();
  config.sensitivity = s["sensitivity"];
  return config;
}

void require_possible_nccl(const Experiment& e) {
  if (e.backend != "nccl") return;
  if (e.kernels != "cuda")
    throw ConfigError("backend", fmt::format("nccl moves data on GPUs: set kernels to cuda, "
                                             "found {}",
                                             e.kernels));
  if (const StrategyInfo& strategy = info_of(e.strategy); strategy.sends_patterns)
    throw ConfigError("strategy.type",
                      fmt::format("the sparse tiles of {} do not travel by nccl: use backend mpi",
                                  strategy.name));
  if (const StrategyInfo& strategy = info_of(e.strategy); strategy.opens_stores)
    throw ConfigError("strategy.type",
                      fmt::format("hosts serve the feature rows that {} pulls, nccl does not: "
                                  "use backend mpi",
                                  strategy.name));
}

void require_possible_graphs(const Experiment& e) {
  if (!e.cuda_graph) return;
  if (e.kernels != "cuda")
    throw ConfigError("train.cuda_graph",
                      fmt::format("needs GPUs: set kernels to cuda, found {}", e.kernels));
  if (e.backend == "sim" || e.backend == "model" || !e.simulate_on.empty())
    throw ConfigError("train.cuda_graph",
                      fmt::format("simulations price operations that are issued one by one: set "
                                  "{} to {}",
                                  e.simulate_on.empty() ? "it" : "simulate_on",
                                  e.simulate_on.empty() ? "false" : "[]"));
}

/// How the experiment runs, for real or on paper.
void set_backend(Experiment& e, const Json& root) {
  e.simulation = simulation_config(root["simulation"], e);
  e.backend = root["backend"];
  e.simulate_on = root["simulate_on"].get<std::vector<std::string>>();
  e.kernels = root["kernels"];
  e.tf32 = root.value("tf32", false);
  e.cuda_graph = root["train"]["cuda_graph"];
  require_possible_nccl(e);
  require_possible_graphs(e);
}

/// The epochs whose timeline is kept. The default leaves out the first epoch, in which memory is
/// cold, unless it is the only one.
EpochRange timeline_epochs(const Json& timeline, int trained) {
  const EpochRange asked{timeline["first"], timeline["epochs"]};
  if (asked.first >= trained && asked.first > 1)
    throw ConfigError("timeline.first", fmt::format("found {}, but there are {} epochs, numbered "
                                                    "from 0",
                                                    asked.first, trained));
  return {std::min(asked.first, trained - 1), asked.count};
}

/// Whether layers can be computed in the memory of their inputs. `files`: features are in files.
void require_in_place(const Experiment& e, bool files) {
  const InferenceConfig& config = e.inference;
  const char* found = !(e.model.type == ModelType::gcn)             ? "another model.type than gcn"
                      : e.model.residual                            ? "model.residual"
                      : e.model.inner_layers > 0                    ? "model.inner_layers"
                      : config.columns > 1                          ? "inference.columns"
                      : config.spmm != SparseProduct::ids_then_rows ? "another inference.spmm"
                      : files && config.preparation == Preparation::fused
                          ? "inference.preparation \"fused\""
                          : nullptr;
  if (found != nullptr)
    throw ConfigError("inference.sum_columns",
                      fmt::format("does not go with {}: leave one of the two out", found));
}

/// inference.order: a word for all graph convolutions, or one for each.
///
/// Errors    ConfigError: another number of words; a layer that cannot multiply in this order
std::vector<LayerOrder> inference_orders(const Json& value, const ModelConfig& model) {
  std::map<std::string, LayerOrder> words = layer_orders();
  words.erase("aggregate_both");  // is of the backward pass
  if (value.is_string() && !words.contains(value.get<std::string>()))
    throw ConfigError("inference.order",
                      fmt::format("found {}, allowed: auto, aggregate_first, transform_first, or a "
                                  "list with one of them for each of model.layers",
                                  value.dump()));
  std::vector<LayerOrder> orders(static_cast<std::size_t>(model.layers), LayerOrder::automatic);
  if (value.is_array() && value.size() != orders.size())
    throw ConfigError("inference.order",
                      fmt::format("has {} words, but model.layers is {}: give one for each, or one "
                                  "word for all",
                                  value.size(), model.layers));
  for (std::size_t l = 0; l < orders.size(); ++l)
    orders[l] = pick<LayerOrder>(value.is_array() ? value[l] : value, words);
  const auto has = [&](LayerOrder order) {
    return std::find(orders.begin(), orders.end(), order) != orders.end();
  };
  if (weighs_edges(model)) {
    if (has(LayerOrder::aggregate_first))
      throw ConfigError(
          "inference.order",
          fmt::format("\"aggregate_first\" is impossible with model.type \"{}\", because {}: leave "
                      "it out",
                      model.type.name,
                      layer_of(model).takes_largest
                          ? "it takes the largest of rows times W after a ReLU"
                          : "it computes numbers of edges from rows times W"));
    return {};
  }
  if (!has_orders(model) && (has(LayerOrder::aggregate_first) || has(LayerOrder::transform_first)))
    throw ConfigError(
        "inference.order",
        fmt::format("is for gcn, sage and resgcn+, whose layers multiply by A and by W; "
                    "\"{}\" decides itself: leave it out",
                    model.type.name));
  return orders;
}

/// Settings of orrery infer; without any its defaults.
void set_inference(Experiment& e, const Json& root) {
  const Json i = root.value("inference", Json::object());
  InferenceConfig& config = e.inference;
  e.weights = i.value("weights", std::string());
  config.fanout = i.value("fanout", config.fanout);
  config.columns = i.value("columns", config.columns);
  config.rows = i.value("rows", std::max(1, e.ranks() / config.columns));
  config.seed = e.seed;
  if (i.contains("group_bytes"))
    config.group_bytes = bytes_at(i, "group_bytes", "inference.group_bytes");
  config.sum_columns = i.value("sum_columns", 0);
  if (i.contains("gemm"))
    config.gemm = pick<DenseProduct>(
        i["gemm"], {{"ring", DenseProduct::ring}, {"reduce", DenseProduct::reduce}});
  if (i.contains("spmm"))
    config.spmm = pick<SparseProduct>(i["spmm"], {{"ids_then_rows", SparseProduct::ids_then_rows},
                                                  {"exchange_graph", SparseProduct::exchange_graph},
                                                  {"2d", SparseProduct::two_d}});
  if (i.contains("sddmm"))
    config.sddmm = pick<EdgeProduct>(
        i["sddmm"], {{"duplicated", EdgeProduct::duplicated}, {"split", EdgeProduct::split}});
  if (i.contains("order")) config.order = inference_orders(i["order"], e.model);
  if (i.contains("sddmm") && !weighs_edges(e.model))
    throw ConfigError(
        "inference.sddmm",
        fmt::format("applies to models that weigh edges, such as \"gat\", not to \"{}\": leave "
                    "it out",
                    e.model.type.name));
  if (config.spmm != SparseProduct::ids_then_rows && weighs_edges(e.model))
    throw ConfigError(
        "inference.spmm",
        fmt::format("found {}, but model.type \"{}\" computes the entries of A and has only "
                    "ids_then_rows",
                    i["spmm"].dump(), e.model.type.name));
  if (config.spmm == SparseProduct::exchange_graph && config.group_bytes > 0)
    throw ConfigError(
        "inference.group_bytes",
        "applies to fetched rows, but spmm \"exchange_graph\" fetches none: leave it out, or "
        "choose another inference.spmm");
  if (i.contains("preparation"))
    config.preparation =
        pick<Preparation>(i["preparation"], {{"scan", Preparation::scan},
                                             {"redistribute", Preparation::redistribute},
                                             {"fused", Preparation::fused}});
  // A counted graph has its features in files if the file says how they are prepared.
  const bool files =
      !e.dataset.feature_files.empty() || (e.statistics && i.contains("preparation"));
  if (i.contains("preparation") && !files)
    throw ConfigError("inference.preparation",
                      "applies to features in files (dataset.features.files) or to a graph that is "
                      "given by dataset.statistics: leave it out");
  if (files && config.preparation == Preparation::fused &&
      config.spmm != SparseProduct::ids_then_rows)
    throw ConfigError("inference.preparation",
                      fmt::format("fused needs spmm \"ids_then_rows\", found {}: choose "
                                  "redistribute or scan",
                                  i["spmm"].dump()));
  if (config.sum_columns > 0) require_in_place(e, files);
  if (config.fanout == 0)
    throw ConfigError("inference.fanout", "found 0, expected -1 (all neighbours) or at least 1");
}

Experiment experiment_from(const std::string& label, Json root, int mpi_ranks,
                           const fs::path& folder, ClusterCache& clusters) {
  prepare_strategy(root);
  validate_against_schema(root);
  fill_in_defaults(root);
  complete(root, mpi_ranks);

  Experiment e;
  e.label = label;
  e.name = root["name"];
  e.seed = root["seed"];
  set_dataset(e, root["dataset"]);
  set_links(e, root);
  e.model = model_config(root["model"]);
  e.train = train_config(root["train"], e.seed);
  e.checkpoint_every = root["train"]["checkpoint_every"];
  e.checkpoint_steps = root["train"]["checkpoint_steps"];
  e.start_weights = root["train"].value("weights", std::string());
  e.metrics = root["train"].value("metrics", std::vector<std::string>{});
  if (!e.metrics.empty() && !e.parts.empty())
    throw ConfigError(
        "train.metrics",
        "are of the whole graph in memory, and dataset.parts has each part on its own: "
        "leave them out, or name a dataset.path");
  set_strategy(e, root);
  place(e, root, folder, clusters);
  set_partition(e, root["partition"]);
  set_ranks(e);
  set_algorithm(e, root["partition"]);
  set_backend(e, root);
  if (root.contains("validate")) {
    e.netcluster = root["validate"].value("netcluster", std::string());
    e.used_by_calibration = root["validate"]["used_by_calibration"];
  }
  set_inference(e, root);
  e.timeline_epochs = timeline_epochs(root["timeline"], e.train.epochs);
  parts_for(e.strategy, e.ranks());  // an impossible grid is reported before anything is loaded
  e.resolved = std::move(root);
  return e;
}

}  // namespace

std::int64_t parse_bytes(const std::string& text, const std::string& path) {
  static const std::map<std::string, double> units{
      {"", 1},      {"B", 1},        {"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
      {"TB", 1e12}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  std::size_t used = 0;
  double number = -1;
  try {
    number = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  const std::size_t unit = text.find_first_not_of(' ', used);
  const auto scale = units.find(unit == std::string::npos ? "" : text.substr(unit));
  if (used == 0 || scale == units.end() || !(number * scale->second >= 1) ||
      number * scale->second > 0x1p62)
    throw ConfigError(
        path, fmt::format("found \"{}\", expected a size such as \"16 GiB\" (units B, kB, MB, "
                          "GB, TB, KiB, MiB, GiB, TiB)",
                          text));
  return static_cast<std::int64_t>(std::llround(number * scale->second));
}

Placement Experiment::placement() const {
  if (!cluster) return Placement::uniform(servers, ranks_per_server);
  std::vector<int> server_of;
  for (const int device : devices) server_of.push_back(cluster->server_of(device));
  return Placement(server_of);
}

namespace {

std::vector<Experiment> experiments_in(const std::string& text, const std::string& origin,
                                       const std::vector<std::string>& overrides, int mpi_ranks,
                                       const fs::path& folder) {
  Json root = parse_json(text, origin);
  if (!root.is_object()) throw ConfigError("", origin + ": expected a JSON object");
  for (const std::string& assignment : overrides) apply_override(root, assignment);
  std::vector<Experiment> experiments;
  ClusterCache clusters;
  std::map<std::string, std::string> labels;  // of each distinct experiment
  const Json sweep = root.value("sweep", Json::object());
  root.erase("sweep");
  for (Combination& one : combinations(root, sweep)) {
    experiments.push_back(
        experiment_from(one.label, std::move(one.file), mpi_ranks, folder, clusters));
    experiments.back().settings = std::move(one.settings);
    const auto [known, is_new] =
        labels.try_emplace(experiments.back().resolved.dump(), experiments.back().label);
    if (!is_new && sweep.contains(kCases))
      throw ConfigError("sweep.cases", fmt::format("{} and {} are the same experiment",
                                                   known->second, experiments.back().label));
    experiments.back().base = root;
  }
  return experiments;
}

}  // namespace

std::vector<Experiment> parse_experiments(const std::string& text, const std::string& origin,
                                          const std::vector<std::string>& overrides,
                                          int mpi_ranks) {
  return experiments_in(text, origin, overrides, mpi_ranks, ".");
}

std::vector<Experiment> load_experiments(const std::string& file,
                                         const std::vector<std::string>& overrides, int mpi_ranks) {
  const bool piped = file == kStandardInput;
  if (piped && mpi_ranks > 1)
    throw ConfigError("FILE", "only one process can read standard input: name a file instead");
  const std::string text = read_settings(piped ? "/dev/stdin" : file, "an experiment file");
  const auto folder = fs::path(file).parent_path();
  auto experiments = experiments_in(text, file, overrides, mpi_ranks, folder);
  // A path that is not found otherwise may begin at the folder of the experiment file.
  const auto rebase = [&](std::string& path, Json& room, const char* key, bool found) {
    if (path.empty() || found || fs::path(path).is_absolute() || !fs::exists(folder / path)) return;
    path = fs::absolute(folder / path).lexically_normal().string();
    room[key] = path;
  };
  for (Experiment& e : experiments) {
    DatasetOptions& d = e.dataset;
    rebase(d.path, e.resolved["dataset"], "path", find_dataset(d.path).has_value());
    if (d.edge_list)
      for (std::size_t i = 0; i < d.edge_list->files.size(); ++i) {
        std::string& edges = d.edge_list->files[i];
        Json room{{"file", edges}};
        rebase(edges, room, "file", fs::exists(edges));
        e.resolved["dataset"]["edge_list"]["files"][i] = edges;
      }
    if (!d.feature_files.empty())
      rebase(d.feature_files, e.resolved["dataset"]["features"], "files",
             fs::exists(d.feature_files));
    rebase(e.parts, e.resolved["dataset"], "parts", fs::exists(e.parts));
    rebase(d.degree_file, e.resolved["dataset"], "degree_file", fs::exists(d.degree_file));
    rebase(e.simulation.profile, e.resolved["simulation"], "profile",
           fs::exists(e.simulation.profile));
    rebase(e.partition.file, e.resolved["partition"], "file", fs::exists(e.partition.file));
    if (!e.weights.empty())
      rebase(e.weights, e.resolved["inference"], "weights", fs::exists(e.weights));
    if (!e.start_weights.empty())
      rebase(e.start_weights, e.resolved["train"], "weights", fs::exists(e.start_weights));
  }
  return experiments;
}

}  // namespace orrery
