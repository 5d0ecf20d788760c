// Experiment files: read, checked against the schema, completed with defaults, swept.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/cluster/placement.hpp"
#include "core/graph/dataset.hpp"
#include "core/graph/dataset_options.hpp"
#include "core/graph/graph_statistics.hpp"
#include "core/inference/layout/inference_config.hpp"
#include "core/model/model_config.hpp"
#include "core/partition/partition.hpp"
#include "core/partition/partition_options.hpp"
#include "core/runtime/timeline.hpp"
#include "core/sample/links/link_config.hpp"
#include "core/strategy/config/strategy_config.hpp"

namespace orrery {

/// How a run is replayed on a cluster.
struct SimulationConfig {
  int epochs = 3;
  bool simgrid = false;          ///< simulates the links, and not our own solver
  std::string library = "auto";  ///< nccl | mpi | threads; auto only where there is no cluster
  std::string algorithm = "auto";
  int window = 0;                       ///< 0: automatic
  int channels = 0;                     ///< 0: automatic
  std::int64_t chunk_bytes = 0;         ///< 0: the library's
  std::string profile;                  ///< empty: the one that the cluster names
  std::map<std::string, double> scale;  ///< by kind of operation
  bool sensitivity = false;             ///< also with both ends of the profile's efficiencies
};

/// Which batches must fit where strategy.batch comes from the device memory: all that can be, or those
/// that the run draws.
enum class BatchFit : std::uint8_t { none, any, drawn };

/// One concrete experiment.
struct Experiment {
  std::string name;
  std::string label;  ///< the swept values, "strategy.type=spmm_1d, seed=3"; empty without a sweep
  std::uint64_t seed = 0;
  DatasetOptions dataset;
  std::string parts;  ///< folder of parts instead of a data set; empty: none
  std::optional<GraphStatistics> statistics;  ///< instead of a data set
  bool inductive = false;                     ///< trained on the graph of the training vertices
  std::optional<LinkConfig> links;            ///< predicted, in the place of labels
  bool edge_weights = false;                  ///< A has those of the data set
  bool edge_features = false;                 ///< attention sees those of the data set
  ModelConfig model;
  TrainConfig train;
  PartitionOptions partition;
  std::string parts_reason;  ///< why the number of parts was chosen; empty: not known yet
  StrategyConfig strategy;
  /// strategy.depth, .batches: from the device memory
  bool fits_depth = false, fits_batches = false;
  BatchFit fits_batch = BatchFit::none;   ///< strategy.batch: likewise
  int servers = 1, ranks_per_server = 1;  ///< without a cluster
  std::optional<Cluster> cluster;         ///< that of cluster.file
  /// for each rank, its device in `cluster`; empty without a cluster
  std::vector<int> devices;
  bool host_per_server = false;              ///< one host process feeds all devices of a server
  std::optional<std::int64_t> device_bytes;  ///< for each rank; nothing: unlimited
  SimulationConfig simulation;
  std::vector<std::string> simulate_on;  ///< clusters, after a real run
  std::string backend, kernels;
  bool tf32 = false;                 ///< dense products of kernels cuda in TF32
  bool cuda_graph = false;           ///< repeated work is launched as CUDA graphs
  std::string netcluster;            ///< rate of its links, for orrery validate; empty: none
  bool used_by_calibration = false;  ///< orrery validate reports its errors separately
  EpochRange timeline_epochs;
  int checkpoint_every = 0;          ///< epochs; 0: never
  int checkpoint_steps = 0;          ///< steps of an epoch; 0: only between epochs
  std::string start_weights;         ///< a file or a folder; empty: weights are drawn
  std::vector<std::string> metrics;  ///< of the best weights, in the end
  InferenceConfig inference;         ///< of orrery infer
  std::string weights;               ///< of orrery infer: a file or a folder; empty: trained first
  nlohmann::ordered_json resolved;   ///< the file with every default filled in
  nlohmann::ordered_json settings;   ///< the swept keys with their values; {} without a sweep
  /// The file with its overrides and without its sweep: the same of all combinations.
  nlohmann::ordered_json base;

  int ranks() const {
    return cluster ? static_cast<int>(devices.size()) : servers * ranks_per_server;
  }
  /// Whether its ranks are processes that mpirun or srun starts.
  bool over_mpi() const { return backend == "mpi" || backend == "nccl"; }
  /// Whether it is trained, and not only counted.
  bool trains() const { return backend == "threads" || over_mpi(); }
  Placement placement() const;
  /// Whether the file says which ranks share a server.
  bool places_ranks() const { return cluster || resolved["cluster"].contains("servers"); }
};

/// All experiments of a file: one, or one per combination of its sweep (the last key varies
/// fastest). `overrides` are "key.path=value" with the value in JSON or, failing that, a plain
/// string. One that names a swept key replaces its list. A relative path (dataset.path,
/// cluster.file, ...) that exists beside the file but not in the working directory is taken from
/// beside the file. `mpi_ranks`: number of ranks for experiments with backend mpi that do not state
/// it.
///
/// Errors    ConfigError in one line: key path, what was found, what is allowed, the nearest known
///           key or value
std::vector<Experiment> load_experiments(const std::string& file,
                                         const std::vector<std::string>& overrides,
                                         int mpi_ranks = 1);

/// The same from JSON text; `origin` names it in errors.
std::vector<Experiment> parse_experiments(const std::string& text, const std::string& origin,
                                          const std::vector<std::string>& overrides,
                                          int mpi_ranks = 1);

/// "16 GiB", "512 MB", "1000": bytes (KiB = 1024 B, kB = 1000 B).
///
/// Errors    ConfigError at `path`
std::int64_t parse_bytes(const std::string& text, const std::string& path);

}  // namespace orrery
