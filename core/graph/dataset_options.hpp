// Options for loading a data set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace orrery {

/// Files with edges only, whose vertices keep their numbers.
struct EdgeListOptions {
  std::vector<std::string> files;
  std::string format = "auto";             ///< auto | uint32 | uint64 | npy | text
  std::optional<std::int64_t> vertices{};  ///< default: up to the largest number
};

/// The key "dataset" of an experiment file; load_dataset() turns it into a Dataset.
struct DatasetOptions {
  /// Folder, file, or a bare name that is looked up in $ORRERY_DATA (a colon-separated list).
  std::string path;
  std::string format = "auto";  ///< auto | orrery | ogb | snap | mtx
  /// Replaces `path` for readers that read edges in ranges; load_dataset() refuses it.
  std::optional<EdgeListOptions> edge_list{};
  bool symmetric = false;                       ///< add the reverse of every edge
  std::optional<std::int64_t> random_features;  ///< use random features of this width
  /// A folder of rows in any order (FeatureFiles); load_dataset() refuses it.
  std::string feature_files;
  /// mean | zero: features of types of vertices that have none, in sets where others have some;
  /// empty: mean, and no error where there is no such set.
  std::string missing_features;
  std::optional<bool> row_normalise;     ///< default: true for 0/1 features
  bool half_features = false;            ///< features are rounded to 16 bits
  bool random_split = false;             ///< draw 70/15/15 even if a split is published
  std::optional<double> training_share;  ///< for a drawn split; half of the rest is for validation
  /// Labelled vertices outside of the published split are training vertices, too.
  bool train_on_rest = false;
  /// none | degree | bfs | communities: renumber the vertices for locality.
  std::string reorder = "none";
  std::uint64_t seed = 0;    ///< seed of split, random features, generators
  std::int64_t magnify = 1;  ///< see Dataset

  /// communities | skewed-communities | typed-communities | mag | mag-lsc | rmat | bter | chung-lu;
  /// empty: read `path`.
  std::string generator;
  std::int64_t generate_vertices = 0;
  std::int64_t generate_edges = 0;  ///< undirected edges drawn; each is stored in both directions
  std::int64_t generate_classes = 16;
  std::int64_t generate_features = 64;
  std::int64_t generate_communities = 64;  ///< skewed-communities: number of communities
  /// (skewed-, typed-)communities: share of a vertex's edges that leave its community.
  double mixing = 0.2;
  /// (skewed-, typed-)communities: distance between class centres in units of the features' noise.
  double feature_signal = 0.5;
  /// chung-lu, bter, skewed-communities: power-law exponent of the degrees.
  double exponent = 2.1;
  /// bter: clustering coefficient of vertices of degree 2; for degree d it is divided by sqrt(d/2).
  double clustering = 0.3;
  /// bter, chung-lu, skewed-communities: file with "degree count [clustering]" per line, used
  /// instead of the power law.
  std::string degree_file;
};

}  // namespace orrery
