// What an inference has read and drawn, in files beside its layers: the rows of the graph, and the
// neighbours of all layers. A start that takes them over reads no edges and draws nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/inference/held_rows.hpp"
#include "core/inference/layer_graphs.hpp"

namespace orrery {

/// Rows of a graph, and the number of its edges as stored.
struct KeptRows {
  HeldRows rows;
  std::int64_t edges = 0;
};

/// A folder with a file of rows and one of drawn neighbours for each process that has its own: the one
/// process of threads, or the first rank of each part over MPI. A file exists only when it is complete.
class KeptInput {
 public:
  /// What all of these processes had kept before.
  struct There {
    bool rows = false, draws = false;
  };
  /// `file`: the number of the one that this process has, or takes over; `writes`: whether it is this
  /// process that writes it.
  KeptInput(std::filesystem::path folder, There there, int file, bool writes)
      : folder_(std::move(folder)), there_(there), file_(file), writes_(writes) {}

  const There& there() const { return there_; }
  /// Errors    Error naming the file and the system's reason
  void put_rows(const HeldRows& rows, std::int64_t edges) const;
  void put_draws(const LayerGraphs::Drawn& drawn) const;
  /// Requires  there().rows, there().draws
  /// Errors    DataError: damaged
  KeptRows take_rows() const;
  LayerGraphs::Drawn take_draws() const;

 private:
  std::filesystem::path folder_;
  There there_;
  int file_;
  bool writes_;
};

/// Makes the folder for an input that `identity` describes and answers what of it the processes, which
/// have this many files, kept there. Without `resume`, our files in it are removed first.
///
/// Errors    ConfigError: resumed, and it holds another one's, naming the first key that differs
KeptInput::There open_kept_input(const std::filesystem::path& folder,
                                 const nlohmann::ordered_json& identity, int files, bool resume);

/// Removes our files in such a folder, and the folder itself if nothing else is in it.
void remove_kept_input(const std::filesystem::path& folder);

}  // namespace orrery
