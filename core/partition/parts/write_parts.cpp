#include "core/partition/parts/write_parts.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>

#include "core/base/error.hpp"
#include "core/base/whole_file.hpp"
#include "core/graph/files/checksum.hpp"
#include "core/graph/files/folder_in_progress.hpp"
#include "core/graph/read/typed_files.hpp"
#include "core/partition/parts/part_writer.hpp"
#include "core/partition/parts/partitioned_dataset.hpp"
#include "core/partition/parts/rows_on_disk.hpp"
#include "core/partition/parts/typed_rows_on_disk.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Writes all parts and meta.json into an existing folder. `typed`: what the graph's relations are;
/// null: it has none.
void write_all(GraphRows& graph, const OwnerOrder& order, const VertexRows& rows,
               const TypedGraph* typed, const DataFacts& facts, const PartsOptions& options,
               const fs::path& folder) {
  Json sizes = Json::array(), replicas = Json::array(), training = Json::array(),
       checksums = Json::array();
  PartWriter writer(graph, order, rows, options.hops, options.one_sided);
  for (int part = 0; part < order.parts(); ++part) {
    fs::create_directory(part_folder(folder, part));
    const PartSummary written = writer.write(
        part, part_folder(folder, part),
        fmt::format("{} part {} of {}", facts.name, part, order.parts()), facts.generated);
    sizes.push_back(written.owned);
    replicas.push_back(written.replicas);
    training.push_back(written.training);
    checksums.push_back(written.checksum);
  }
  Json meta{{"format", kPartsFormat},
            {"schema_version", kPartsVersion},
            {"name", facts.name},
            {"method", options.method},
            {"parameters", options.parameters},
            {"parts", order.parts()},
            {"hops", options.hops},
            {"sizes", sizes},
            {"replicas", replicas},
            {"training", training},
            {"num_nodes", facts.vertices},
            {"num_edges", facts.edges},
            {"symmetric", facts.symmetric},
            {"generated", facts.generated},
            {"num_features", facts.features},
            {"features", facts.features_provenance},
            {"num_classes", facts.classes},
            {"multilabel", facts.multilabel},
            {"training_vertices", facts.training_vertices},
            {"notes", facts.notes},
            {"checksums", checksums}};
  if (options.one_sided) meta["one_sided"] = true;
  if (typed != nullptr) add_types(meta, *typed);
  meta["checksum"] = checksum(meta.dump());
  write_file(folder / "meta.json", meta.dump(1) + "\n");
}

/// The facts without those notes that say how the graph was made.
DataFacts facts_of(const StreamedDataset& data, const GraphRows& graph) {
  DataFacts facts;
  facts.name = data.name;
  facts.vertices = graph.vertices();
  facts.edges = graph.edges();
  facts.symmetric = graph.symmetric();
  facts.generated = data.generated;
  if (data.rows.features) {
    facts.features = data.rows.features->width();
    facts.features_provenance = data.rows.features->provenance();
  }
  facts.classes = data.rows.labels ? data.rows.classes : 0;
  facts.multilabel = data.rows.multilabel;
  if (data.split)
    facts.training_vertices = std::count(data.split->begin(), data.split->end(), Split::train);
  facts.notes = data.notes;
  return facts;
}

std::string words_on_merged(std::int64_t edges) {
  return fmt::format("{} duplicate edges merged", edges);
}

/// The facts of a graph without relations.
DataFacts facts_of_rows(const StreamedDataset& data, const RowsOnDisk& graph) {
  DataFacts facts = facts_of(data, graph);
  if (data.mirrored) facts.notes.emplace_back("symmetrised: the reverse of every edge was added");
  if (graph.merged() > 0) facts.notes.push_back(words_on_merged(graph.merged()));
  return facts;
}

/// The words of words_of(), where the relations have no graph.
std::string words_of(const TypedGraph& typed, const std::vector<std::int64_t>& edges_of) {
  std::vector<std::string> types, relations;
  for (const VertexType& type : typed.types)
    types.push_back(fmt::format("{} {}", type.name, type.count));
  for (std::size_t r = 0; r < edges_of.size(); ++r)
    relations.push_back(fmt::format("{} {}", typed.relations[r].text(), edges_of[r]));
  return fmt::format("typed: {} vertex types ({}), {} relations ({})", types.size(),
                     fmt::join(types, ", "), relations.size(), fmt::join(relations, ", "));
}

/// The facts of a graph with relations; its notes stand where load_dataset() puts them.
DataFacts facts_of_typed(const StreamedDataset& data, const TypedRowsOnDisk& graph,
                         const TypedGraph& typed) {
  DataFacts facts = facts_of(data, graph);
  const auto insert = [&](std::size_t place, const std::string& note) {
    facts.notes.insert(facts.notes.begin() + static_cast<std::ptrdiff_t>(place), note);
  };
  if (data.mirrored)
    insert(data.notes_on_reading, fmt::format("symmetrised: {} directed edges became {}",
                                              graph.stored_edges(), graph.edges()));
  const std::string types = words_of(typed, graph.edges_of_relations());
  if (data.mirrored) insert(data.notes_on_reading, types);
  if (graph.merged() > 0) insert(data.notes_on_origin, words_on_merged(graph.merged()));
  if (!data.mirrored) insert(data.notes_on_origin, types);
  return facts;
}

/// Why a folder may not be replaced by parts: it holds more than parts.
std::string not_only_parts(const fs::path& folder) {
  std::ifstream file(folder / "meta.json");
  const Json meta = Json::parse(file, nullptr, false);
  if (!meta.is_object() || !meta.contains("format") || meta["format"] != kPartsFormat)
    return "it is no folder of parts";
  return more_than(folder, [](const std::string& name) {
    constexpr std::string_view kPart = "part-";
    return name == "meta.json" ||
           (name.starts_with(kPart) &&
            name.find_first_not_of("0123456789", kPart.size()) == std::string::npos);
  });
}

}  // namespace

void require_place_for_parts(const fs::path& folder, bool force) {
  if (!fs::exists(folder)) return;
  if (!force)
    throw DataError(folder.string(), "", "exists already; --force replaces a folder of parts");
  if (fs::is_directory(folder) && fs::is_empty(folder)) return;
  if (const std::string why = not_only_parts(folder); !why.empty())
    throw DataError(folder.string(), "", fmt::format("is not replaced: {}", why));
}

void write_parts(const Dataset& data, const Partition& partition, const PartsOptions& options,
                 const fs::path& folder) {
  require_place_for_parts(folder, options.force);
  FolderInProgress progress(folder, options.force, not_only_parts);
  const OwnerOrder order(partition);
  RowsInMemory graph(*data.graph, data.symmetric, data.typed.get());
  write_all(graph, order, rows_of(data), data.typed.get(), facts_of(data), options,
            progress.path());
  progress.commit();
}

void write_parts(EdgeStream& edges, const StreamedDataset& data, const Partition& partition,
                 const PartsOptions& options, const fs::path& folder) {
  if (std::ssize(partition.owner) != data.vertices)
    throw DataError(data.edges.string(), "",
                    fmt::format("expected vertices below {}, as the data set says, found {}",
                                data.vertices, partition.owner.size() - 1));
  require_place_for_parts(folder, options.force);
  FolderInProgress progress(folder, options.force, not_only_parts);
  const fs::path scratch = progress.path() / "scratch";
  fs::create_directory(scratch);
  {
    const OwnerOrder order(partition);
    if (data.typed) {
      TypedEdges typed_edges(edges, data);
      const TypedGraph& typed = typed_edges.typed();
      TypedRowsOnDisk graph(typed_edges, order, scratch);
      write_all(graph, order, data.rows, &typed, facts_of_typed(data, graph, typed), options,
                progress.path());
    } else {
      RowsOnDisk graph(edges, data.mirrored, order, scratch);
      write_all(graph, order, data.rows, nullptr, facts_of_rows(data, graph), options,
                progress.path());
    }
  }
  fs::remove_all(scratch);
  progress.commit();
}

}  // namespace orrery
