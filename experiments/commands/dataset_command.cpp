#include "experiments/commands/dataset_command.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/json_reader.hpp"
#include "core/base/parallel.hpp"
#include "core/base/removed_if_interrupted.hpp"
#include "core/base/units.hpp"
#include "core/graph/edges/edge_features.hpp"
#include "core/graph/edges/edge_weights.hpp"
#include "core/graph/files/folder_in_progress.hpp"
#include "core/graph/files/npy_header.hpp"
#include "core/graph/files/vertex_names.hpp"
#include "core/graph/generate/generate.hpp"
#include "core/graph/read/load.hpp"
#include "core/graph/read/lookup.hpp"
#include "core/graph/read/write_orrery.hpp"
#include "core/graph/statistics.hpp"
#include "core/terminal/activity.hpp"
#include "core/terminal/tell.hpp"
#include "experiments/commands/grouped.hpp"
#include "experiments/commands/python_script.hpp"
#include "experiments/commands/samples_report.hpp"
#include "experiments/config/installed.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/config/version.hpp"
#include "experiments/infer/sharing/sharing_report.hpp"
#include "experiments/run/interruption.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Filled in by the flags of all subcommands.
struct Flags {
  DatasetOptions options;
  std::string output, samples, vertices;
  std::vector<std::string> sums;  ///< of dataset get
  bool list = false, keep_download = false;
  CheckedRule rule;
  SharingSettings sharing;
  SharingShares shares;
  bool json = false, force = false;
  std::vector<const CLI::Option*> generator_options;  ///< owned by the subcommand
};

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json to_json(const DegreeStatistics& d) {
  return {{"min", d.min}, {"mean", d.mean}, {"median", d.median},    {"p90", d.p90},
          {"p99", d.p99}, {"max", d.max},   {"skewness", d.skewness}};
}

/// The file in which a folder of the set has, or would have, the names of its vertices.
Json file_of(const VertexNames& names) { return names.present() ? Json(names.file()) : Json(); }

Json to_json(const Dataset& dataset, const DatasetStatistics& s, const VertexNames& names) {
  Json json = {{"schema_version", kSchemaVersion},
               {"name", dataset.name},
               {"vertices", s.vertices},
               {"edges", s.edges},
               {"self_loops", s.self_loops},
               {"symmetric", s.symmetric},
               {"isolated", s.isolated},
               {"components", s.components},
               {"largest_component", s.largest_component},
               {"in_degree", to_json(s.in_degree)},
               {"out_degree", to_json(s.out_degree)},
               {"clustering", or_null(s.clustering)},
               {"sampled_wedges", s.sampled_wedges},
               {"features", nullptr},
               {"classes", dataset.labels.classes},
               {"multilabel", dataset.labels.multilabel},
               {"label_counts", s.label_counts},
               {"unlabelled", s.unlabelled},
               {"homophily", or_null(s.homophily)},
               {"split", nullptr},
               {"vertex_names", file_of(names)},
               {"generated", dataset.generated},
               {"notes", dataset.notes}};
  if (const auto& f = dataset.features)
    json["features"] = {{"width", f->width()},
                        {"provenance", f->provenance()},
                        {"made_up", f->made_up()},
                        {"binary", f->binary()}};
  if (!dataset.split.empty())
    json["split"] = {{"train", s.split_counts[0]},
                     {"validation", s.split_counts[1]},
                     {"test", s.split_counts[2]},
                     {"none", s.split_counts[3]}};
  return json;
}

void print_row(const char* what, const std::string& value) {
  fmt::print("  {:<14}{}\n", what, value);
}

std::string degrees_text(const DegreeStatistics& d) {
  return fmt::format("mean {:.2f}, min {}, median {}, 90 % {}, 99 % {}, max {}; skewness {:.1f}",
                     d.mean, grouped(d.min), grouped(d.median), grouped(d.p90), grouped(d.p99),
                     grouped(d.max), d.skewness);
}

void print_graph(const DatasetStatistics& s) {
  print_row("vertices", grouped(s.vertices));
  print_row("edges", fmt::format("{} directed, {}; {} self-loops", grouped(s.edges),
                                 s.symmetric ? "each in both directions" : "not symmetric",
                                 grouped(s.self_loops)));
  print_row(s.symmetric ? "degree" : "in-degree", degrees_text(s.in_degree));
  if (!s.symmetric) print_row("out-degree", degrees_text(s.out_degree));
  print_row("components",
            fmt::format("{} (largest {}), {} isolated vertices", grouped(s.components),
                        grouped(s.largest_component), grouped(s.isolated)));
  print_row("clustering", s.clustering
                              ? fmt::format("{:.4f} (share of {} sampled wedges that are closed)",
                                            *s.clustering, grouped(s.sampled_wedges))
                              : "no wedges");
}

void print_labels(const Dataset& dataset, const DatasetStatistics& s) {
  if (!dataset.labels.present()) return print_row("labels", "absent");
  const auto [smallest, largest] = std::ranges::minmax(s.label_counts);
  print_row("labels",
            fmt::format("{} {}, {} to {} vertices each, {} unlabelled", s.label_counts.size(),
                        dataset.labels.multilabel ? "labels (any number per vertex)" : "classes",
                        grouped(smallest), grouped(largest), grouped(s.unlabelled)));
  if (s.homophily)
    print_row("homophily",
              fmt::format("{} of the edges join equal labels", human_percent(*s.homophily, 1)));
}

/// What vertices are called where the set comes from; nothing where they are called by their numbers.
void print_names(const VertexNames& names) {
  if (!names.present()) return;
  const auto name = [&](std::size_t v) {
    return names.words.empty() ? std::to_string(names.numbers[v]) : names.words[v];
  };
  const std::size_t last = std::max(names.numbers.size(), names.words.size()) - 1;
  print_row("in the source",
            fmt::format("vertex 0 is {}, vertex {} is {}; {} of its folder has all", name(0), last,
                        name(last), names.file()));
}

void print_info(const Dataset& dataset, const DatasetStatistics& s, const VertexNames& names) {
  fmt::print("{}{}\n", dataset.name, dataset.generated ? " (generated)" : "");
  print_graph(s);
  print_names(names);
  if (const auto& f = dataset.features)
    print_row("features",
              fmt::format("{} columns, {}{} as dense float32; {}", grouped(f->width()),
                          f->binary() ? "0/1, " : "",
                          human_bytes(4.0 * static_cast<double>(f->width() * f->rows())),
                          f->provenance()));
  else
    print_row("features", "absent");
  print_labels(dataset, s);
  if (dataset.split.empty())
    print_row("split", "none published (a run draws 70/15/15 % at random)");
  else
    print_row("split", fmt::format("{} train, {} validation, {} test, {} none",
                                   grouped(s.split_counts[0]), grouped(s.split_counts[1]),
                                   grouped(s.split_counts[2]), grouped(s.split_counts[3])));
}

/// Weights and features of edges, which are read when a run asks for them.
void print_edge_files(const std::string& name) {
  const auto folder = find_dataset(name);
  if (!folder || !fs::is_directory(*folder)) return;
  if (has_edge_weights(*folder)) print_row("edges", "have weights (dataset.edge_weights)");
  if (has_edge_features(*folder)) print_row("edges", "have features (dataset.edge_features)");
}

void print_notes(const Dataset& dataset) {
  for (const auto& note : dataset.notes) tell("note: {}\n", note);
}

void print_json(const Json& json) { fmt::print("{}\n", json.dump()); }

Dataset read(const Flags& flags, VertexNames* names = nullptr) {
  const Activity reading("reading " + flags.options.path);
  return read_dataset(flags.options.path, flags.options.format, flags.options.missing_features,
                      names);
}

void info(const Flags& flags) {
  const Stopwatch watch;
  VertexNames names;
  const Dataset dataset = read(flags, &names);
  const double seconds = watch.seconds();
  std::optional<Activity> counting;
  counting.emplace("counting degrees, components and triangles");
  const DatasetStatistics statistics = dataset_statistics(dataset);
  counting.reset();
  print_notes(dataset);
  if (flags.json) {
    Json json = to_json(dataset, statistics, names);
    json["read_seconds"] = seconds;
    return print_json(json);
  }
  print_info(dataset, statistics, names);
  print_edge_files(flags.options.path);
  print_row("read in", fmt::format("{} ({} edges/s)", human_seconds(seconds),
                                   human_count(static_cast<double>(statistics.edges) / seconds)));
}

/// Writes the set and says so; shared by generate and convert.
void write(Dataset& dataset, const Flags& flags, const EdgeWeights& edge_weights = nullptr,
           const std::shared_ptr<const EdgeFeatures>& edge_features = nullptr,
           const VertexNames& names = {}) {
  dataset.name = std::filesystem::path(flags.output).lexically_normal().filename().string();
  {
    const Activity writing("writing " + flags.output);
    write_orrery(dataset, flags.output, flags.force, edge_weights.get(), edge_features.get(),
                 names);
  }
  print_notes(dataset);
  if (flags.json)
    return print_json({{"schema_version", kSchemaVersion},
                       {"name", dataset.name},
                       {"out_dir", flags.output},
                       {"vertices", dataset.vertices()},
                       {"edges", dataset.edges()},
                       {"vertex_names", file_of(names)},
                       {"notes", dataset.notes}});
  fmt::print("wrote {}: {} vertices, {} directed edges, {} features, {} classes\n", flags.output,
             grouped(dataset.vertices()), grouped(dataset.edges()),
             dataset.features ? grouped(dataset.features->width()) : "no", dataset.labels.classes);
  if (names.present())
    fmt::print("{}: what each vertex is called in the source, in the order of the vertices\n",
               (fs::path(flags.output) / names.file()).string());
}

/// "--degree-file" -> "degree_file", the key of the experiment file with the same meaning.
std::string key_of(const CLI::Option& option) {
  std::string key = option.get_lnames().front();
  std::ranges::replace(key, '-', '_');
  return key;
}

/// Throws for the first given option that the generator would ignore.
void reject_ignored(const Flags& flags) {
  bool with_degree_file = false;
  const auto reason = [&](const CLI::Option* option) {
    return why_ignored(key_of(*option), flags.options.generator, with_degree_file);
  };
  for (const CLI::Option* option : flags.generator_options)
    with_degree_file |=
        option->count() > 0 && key_of(*option) == "degree_file" && !reason(option).has_value();
  for (const CLI::Option* option : flags.generator_options) {
    if (option->count() == 0) continue;
    if (const auto problem = reason(option)) throw ConfigError(option->get_name(), *problem);
  }
}

void generate_command(const Flags& flags) {
  reject_ignored(flags);
  std::optional<Activity> generating;
  generating.emplace(loading_words(flags.options));
  Dataset dataset = generate(flags.options);
  generating.reset();
  write(dataset, flags);
}

/// Whether analysis/import_arrays.py reads a file or folder, and not the program itself.
bool is_of_other_programs(const fs::path& path, const std::string& format) {
  if (format != "auto") return format == "arrays";
  const auto type_of = [&](const char* name) { return read_npy_header(path / name).dtype; };
  const auto differs = [&](const char* name, std::initializer_list<std::string_view> ours) {
    return fs::exists(path / name) && std::ranges::find(ours, type_of(name)) == ours.end();
  };
  if (fs::is_directory(path))
    return fs::exists(path / "edge_index.npy") || is_large_typed_ogb(path) ||
           differs("edges.npy", {npy_dtype<std::int32_t>()}) ||
           differs("features.npy", {npy_dtype<float>()}) ||
           differs("edge_weights.npy", {npy_dtype<float>()}) ||
           differs("edge_features.npy", {npy_dtype<float>()}) ||
           differs("labels.npy", {npy_dtype<std::int32_t>(), npy_dtype<std::uint8_t>()});
  if (path.extension() == ".npz" || path.extension() == ".parquet") return true;
  if (path.extension() != ".csv" || !fs::is_regular_file(path)) return false;
  std::string header;
  std::getline(std::ifstream(path), header);  // a list of numbers has none
  return std::ranges::any_of(header, [](unsigned char c) { return std::isalpha(c) != 0; });
}

/// A data set in the format of another program, converted to a folder that is read; it is removed
/// with this.
class Imported {
 public:
  Imported(const fs::path& from, const std::string& vertices, const fs::path& beside)
      : folder_(place_beside(beside), false, {}) {
    std::vector<std::string> modules{"numpy"};
    if (from.extension() == ".parquet" || fs::path(vertices).extension() == ".parquet")
      modules.emplace_back("pyarrow");
    const Activity importing("reading " + from.string());
    run_python_script("import_arrays.py", {},
                      {{"from", from.string()}, {"vertices", vertices}, {"to", folder().string()}},
                      modules);
  }
  const fs::path& folder() const { return folder_.path(); }
  /// Notes on what was converted, a line each.
  std::vector<std::string> notes() const {
    const std::string file = (folder() / "meta.json").string();
    std::ifstream in(file, std::ios::binary);
    return JsonReader(std::string(std::istreambuf_iterator<char>(in), {}), file)
        .get<std::vector<std::string>>("notes");
  }

 private:
  /// Never put in its place, so that it is removed; also by the next start if this one is killed.
  static fs::path place_beside(fs::path target) {
    if (!target.has_filename()) target = target.parent_path();  // "name/" is "name"
    return target.parent_path() / fmt::format(".{}.import", target.filename().string());
  }

  FolderInProgress folder_;
};

/// Reads a data set with the weights and features of its edges, if it has any, and writes it.
void convert_from(const fs::path& found, const Flags& flags,
                  const std::vector<std::string>& notes = {}) {
  VertexNames names;
  Dataset dataset = read(flags, &names);
  dataset.notes.insert(dataset.notes.end(), notes.begin(), notes.end());
  if (flags.options.symmetric && dataset.typed) {
    add_reverse_edges(dataset);
  } else if (flags.options.symmetric && !dataset.symmetric) {
    dataset.graph = std::make_shared<Csr>(symmetrise(*dataset.graph));
    dataset.notes.push_back("symmetrised: the reverse of every edge was added");
  }
  const bool weighted = fs::is_directory(found) && has_edge_weights(found);
  const bool featured = fs::is_directory(found) && has_edge_features(found);
  write(dataset, flags, weighted ? read_edge_weights(found, dataset) : nullptr,
        featured ? read_edge_features(found, dataset) : nullptr, names);
}

/// Reads any format, those of other programs too.
void convert(const Flags& flags) {
  require_place_for(flags.output, flags.force);
  const fs::path found = locate_dataset(flags.options.path);
  if (is_of_other_programs(found, flags.options.format)) {
    const Imported imported(found, flags.vertices, flags.output);
    Flags as_folder = flags;
    as_folder.options.path = imported.folder().string();
    as_folder.options.format = "orrery";
    return convert_from(imported.folder(), as_folder, imported.notes());
  }
  if (!flags.vertices.empty())
    throw ConfigError("--vertices",
                      fmt::format("goes with a table of edges alone, and '{}' is none: make it a "
                                  ".csv whose first line names the columns (source,target) or a "
                                  ".parquet, or leave --vertices out",
                                  flags.options.path));
  convert_from(found, flags);
}

/// True if the samples follow their rule.
bool sample_check(const Flags& flags) {
  const Dataset dataset = read(flags);
  if (!flags.json) print_notes(dataset);
  const Activity checking("checking " + flags.samples);
  return report_samples(*dataset.graph, flags.samples, flags.rule, flags.json);
}

void sharing(Flags flags) {
  Dataset dataset = read(flags);
  if (flags.options.symmetric && !dataset.symmetric)
    dataset.graph = std::make_shared<Csr>(symmetrise(*dataset.graph));
  if (!flags.json) print_notes(dataset);
  report_sharing(dataset, flags.sharing, flags.shares, flags.json);
}

/// Replaces this process by the script that fetches sets. What the program reads as it is published
/// needs no NumPy.
[[noreturn]] void fetch(const Flags& flags, bool with_numpy) {
  std::vector<std::string> words{"--catalogue", (shipped_root() / "configs/datasets.json").string(),
                                 "--program",   launcher().string(),
                                 "--data",      data_folders().front().string()};
  if (flags.list) words.emplace_back("--list");
  if (!flags.options.path.empty()) words.push_back(flags.options.path);
  for (const std::string& sum : flags.sums) words.insert(words.end(), {"--sha256", sum});
  if (flags.keep_download) words.emplace_back("--keep-download");
  if (flags.json) words.emplace_back("--json");
  const std::vector<std::string> numpy{"numpy"};
  become_python_script("dataset_get.py", words, with_numpy ? numpy : std::vector<std::string>{});
}

/// The converter of a set of the catalogue.
std::optional<std::string> converter_of(const std::string& name) {
  std::ifstream in(shipped_root() / "configs/datasets.json", std::ios::binary);
  const JsonReader catalogue(std::string(std::istreambuf_iterator<char>(in), {}),
                             "configs/datasets.json");
  const auto& sets = catalogue.object("sets");
  if (!sets.contains(name)) return std::nullopt;
  return sets.at(name).at("converter").get<std::string>();
}

/// Fetches a set of the catalogue; of another one says where it is or can be had. True when it is
/// here.
bool get(const Flags& flags) {
  if (flags.list) fetch(flags, false);
  const std::string& name = flags.options.path;
  if (name.empty()) throw ConfigError("name", "is required, or --list");
  if (const auto here = find_dataset(name)) {
    fmt::print("{} is here: {}\n", name, here->string());
    return true;
  }
  if (const auto converter = converter_of(name))
    fetch(flags, *converter != "ogb" && *converter != "snap");
  const PublishedSet* set = published_set(name);
  if (set == nullptr) {
    fmt::print("{} is not here, and not in the list of published sets:", name);
    for (const PublishedSet& known : published_sets()) fmt::print(" {}", known.name);
    fmt::print("; orrery dataset get --list has those that it fetches\n");
    return false;
  }
  fmt::print("{} is not here (searched:", name);
  for (const auto& folder : data_folders()) fmt::print(" {}", folder.string());
  fmt::print(")\n");
  print_row("source", std::string(set->source));
  print_row("download", std::string(set->files));
  print_row("then", std::string(set->convert));
  print_row("put it into", fmt::format("{}/{} (or any folder of ORRERY_DATA)",
                                       data_folders().front().string(), set->name));
  print_row("check it", fmt::format("orrery dataset info {}", set->name));
  if (set->readable)
    print_row(
        "optionally",
        fmt::format("orrery dataset convert {} DIR (the binary form is read faster)", set->name));
  return false;
}

/// A subcommand whose work runs on all cores.
template <class Work>
CLI::App* add(CLI::App& parent, const char* name, const char* what, const char* example,
              Work work) {
  CLI::App* command = parent.add_subcommand(name, what);
  command->footer(fmt::format("Example:\n  {}", example));
  command->callback([work] {
    const ThreadPool pool(available_cores());
    tell_activities(true);
    end_on_signals();
    work();
  });
  return command;
}

void add_format(CLI::App& command, Flags& flags, bool converts = false) {
  std::vector<std::string> formats{"auto", "orrery", "ogb", "snap", "mtx"};
  if (converts) formats.emplace_back("arrays");
  command.add_option("--format", flags.options.format, "Read the input as this format")
      ->check(CLI::IsMember(formats))
      ->capture_default_str();
}

void add_output(CLI::App& command, Flags& flags) {
  command.add_flag("--force", flags.force, "Replace the output if it is a data set");
  command.add_flag("--json", flags.json,
                   "Print one JSON object as the last line of standard output");
}

void add_sharing_options(CLI::App& command, Flags& flags) {
  command.add_option("path", flags.options.path, "A folder, a file, or a name in ORRERY_DATA")
      ->required();
  flags.sharing.fanouts = {50, 50, 50};
  command
      .add_option("--fanouts", flags.sharing.fanouts,
                  "In-neighbours to draw in each layer, the first number at the targets; -1: all")
      ->expected(1, 64)
      ->capture_default_str();
  const auto option = [&](const char* name, auto& value, const char* what) {
    command.add_option(name, value, what)->capture_default_str();
  };
  option("--merged", flags.shares.merged,
         "Share of the targets whose ego networks are merged in a batch (DGI)");
  option("--batch", flags.sharing.batch, "Number of targets in a small batch (DistDGL)");
  option("--cached", flags.shares.cached, "Share of the input rows to keep (SALIENT++)");
  option("--order", flags.sharing.order,
         "Order of the targets: random, contiguous (by number), or bfs");
  option("--networks", flags.sharing.networks,
         "Largest number of targets whose own networks are "
         "counted");
  option("--batches", flags.sharing.batches, "Largest number of batches to count, of each kind");
  option("--seed", flags.sharing.seed, "Seed of all draws");
  command.add_flag("--symmetric", flags.options.symmetric, "Add the reverse of every edge");
  command.add_flag("--json", flags.json,
                   "Print one JSON object as the last line of standard output");
}

void add_generator_options(CLI::App& command, Flags& flags) {
  DatasetOptions& o = flags.options;
  command.add_option("kind", o.generator, "The generator")
      ->required()
      ->check(CLI::IsMember({"communities", "skewed-communities", "typed-communities", "mag",
                             "mag-lsc", "rmat", "bter", "chung-lu"}));
  const auto option = [&](const char* name, auto& value, const char* what) {
    flags.generator_options.push_back(command.add_option(name, value, what)->capture_default_str());
  };
  option("--vertices", o.generate_vertices, "Number of vertices");
  option("--edges", o.generate_edges,
         "Number of undirected edges; each is stored in both directions");
  option("--classes", o.generate_classes,
         "Number of classes of the labels (communities: also the number of communities)");
  option("--features", o.generate_features, "Number of feature columns");
  option("--seed", o.seed, "Seed of all draws");
  option("--communities", o.generate_communities,
         "Number of planted communities "
         "(skewed-communities)");
  option("--mixing", o.mixing, "Share of the edges that leave their community (all communities)");
  option("--feature-signal", o.feature_signal,
         "Distance of the class centres, in units of the noise (all communities)");
  option("--exponent", o.exponent,
         "Exponent of the degrees' power law (chung-lu, bter, skewed-communities)");
  option("--clustering", o.clustering, "Clustering coefficient at degree 2 (bter)");
  option("--degree-file", o.degree_file,
         "File of degrees, with lines 'degree count [clustering]' (chung-lu, bter, "
         "skewed-communities)");
  command.add_option("--out", flags.output, "Write into this folder")->type_name("DIR")->required();
}

}  // namespace

void add_dataset_command(CLI::App& app, int& exit_code) {
  const auto flags = std::make_shared<Flags>();
  CLI::App& dataset = *app.add_subcommand("dataset", "Inspect, generate and convert data sets");
  dataset.require_subcommand(1);
  dataset.footer("Example:\n  orrery dataset info cora");

  CLI::App* command = add(dataset, "info", "Say what a data set holds",
                          "orrery dataset info data/ogbn-arxiv --json", [flags] { info(*flags); });
  command->add_option("path", flags->options.path, "A folder, a file, or a name in ORRERY_DATA")
      ->required();
  command->add_flag("--json", flags->json,
                    "Print one JSON object as the last line of standard output");
  add_format(*command, *flags);

  command = add(
      dataset, "generate", "Generate a data set and write it",
      "orrery dataset generate communities --vertices 20000 --edges 200000 --out data/communities",
      [flags] { generate_command(*flags); });
  add_generator_options(*command, *flags);
  add_output(*command, *flags);

  command = add(dataset, "convert", "Write a data set as a folder of NumPy files",
                "orrery dataset convert web-Google.txt.gz data/web-google --symmetric",
                [flags] { convert(*flags); });
  command
      ->add_option("from", flags->options.path,
                   "A folder, a file (also .npz, .csv with a header, .parquet), or a name in "
                   "ORRERY_DATA")
      ->required();
  command->add_option("to", flags->output, "The folder to write")->required();
  command
      ->add_option("--vertices", flags->vertices,
                   "Beside a table of edges: one of vertices, with columns id, label, split and "
                   "features")
      ->type_name("FILE");
  command->add_flag("--symmetric", flags->options.symmetric, "Add the reverse of every edge");
  command
      ->add_option("--missing-features", flags->options.missing_features,
                   "Features of types of vertices that have none in a set of OGB: mean of their "
                   "neighbours' (default) or zero")
      ->check(CLI::IsMember({"mean", "zero"}));
  add_format(*command, *flags, true);
  add_output(*command, *flags);

  command = add(dataset, "sample-check",
                "Test whether samples of neighbours, drawn by any program, follow their rule",
                "orrery dataset sample-check samples.npy --graph cora --fanout 10",
                [flags, &exit_code] { exit_code = sample_check(*flags) ? 0 : 1; });
  command
      ->add_option(
          "samples", flags->samples,
          "A .npy file of one layer, int64 [edges, 3]: draw, row, neighbour; each row must be "
          "drawn many times")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--graph", flags->options.path,
                   "The graph: a folder, a file, or a name in ORRERY_DATA")
      ->required();
  command->add_option("--fanout", flags->rule.fanout, "In-neighbours that a row draws; -1: all")
      ->check(CLI::Validator(
          [](const std::string& n) {
            return n == "-1" || (!n.empty() &&
                                 n.find_first_not_of("0123456789") == std::string::npos && n != "0")
                       ? std::string()
                       : "must be -1 or at least 1";
          },
          "-1 or 1, 2, ..."))
      ->required();
  command->add_flag("--replace", flags->rule.replacement, "With replacement");
  command->add_flag("--json", flags->json,
                    "Print one JSON object as the last line of standard output");
  add_format(*command, *flags);

  command =
      add(dataset, "sharing", "Say how much shared work of ego networks each system does only once",
          "orrery dataset sharing cora --fanouts 50 50 50", [flags] { sharing(*flags); });
  add_sharing_options(*command, *flags);
  add_format(*command, *flags);

  command = add(dataset, "get",
                "Fetch a published data set, check it and convert it; or say where it can be had",
                "orrery dataset get ogbn-arxiv",
                [flags, &exit_code] { exit_code = get(*flags) ? 0 : 1; });
  command->add_option("name", flags->options.path, "The name of the set");
  command->add_flag("--list", flags->list, "List the sets that can be fetched");
  command
      ->add_option("--sha256", flags->sums,
                   "The SHA-256 of a file for which the catalogue has none; may be given several "
                   "times")
      ->type_name("[FILE=]SUM")
      ->allow_extra_args(false);
  command->add_flag("--keep-download", flags->keep_download,
                    "Keep the downloaded files beside the converted data set");
  command->add_flag("--json", flags->json,
                    "Print one JSON object as the last line of standard output");
}

}  // namespace orrery
