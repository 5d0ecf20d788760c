// Loads data sets: from a folder, from a file or from a generator.
#pragma once

#include <filesystem>
#include <string>

#include "core/graph/dataset.hpp"
#include "core/graph/dataset_options.hpp"
#include "core/graph/files/vertex_names.hpp"

namespace orrery {

/// Reads or generates a data set and applies the options (symmetric, row_normalise, random
/// features, split, reorder).
///
/// Errors    DataError (file, position, what was expected) · ConfigError under "dataset" (unknown
///           format or generator; a bare name that no folder of ORRERY_DATA holds: the message says
///           where to get such a set and in which form)
Dataset load_dataset(const DatasetOptions& options);

/// Throws as load_dataset does if meta.json says that the graph is not directed, and this edge has
/// no reverse.
[[noreturn]] void refuse_as_directed(const std::filesystem::path& folder, Edge edge);

/// Adds the reverse of every edge, in a typed graph as relations of their own; notes it.
///
/// Errors    as add_reverse_relations()
void add_reverse_edges(Dataset& dataset);

/// Whether a folder has the layout of OGB's large typed set (MAG240M), which a script reads for
/// `orrery dataset convert`: NumPy files in processed/, counts in meta.pt.
bool is_large_typed_ogb(const std::filesystem::path& folder);

/// Reads a data set as stored: no option applied, no split drawn. `missing_features` as in
/// DatasetOptions. `names`, if given, gets what its vertices are called where it comes from: read from a folder, or
/// as the numbers that a text has.
///
/// Errors    as load_dataset; with `names`, as read_vertex_names()
Dataset read_dataset(const std::string& path, const std::string& format = "auto",
                     const std::string& missing_features = "", VertexNames* names = nullptr);

/// Eight hexadecimal digits for the edges, labels and split of a data set, as training uses them, and for
/// 64 rows of its features. Equal data has equal digits, and different data has different ones except by
/// chance, or if other rows of the features differ. Weights and features of edges do not count.
///
/// Cost      one pass over the edges, labels and split, on all cores
std::string fingerprint_of(const Dataset& data);

}  // namespace orrery
