// The facts about a strategy that the rest of the program needs. Each strategy has one description,
// in its own file.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/strategy/config/settings.hpp"
#include "core/strategy/config/strategy_config.hpp"

namespace orrery {

class Strategy;
struct Problem;

/// Equations of the papers that may apply to a strategy.
enum class ClosedForm : std::uint8_t {
  staged_products,        ///< MG-GCN 4.3: products in stages, with and without overlap
  links_1d,               ///< MG-GCN 5.1: 1D, the links of a server
  volume_1d,              ///< CAGNET 1D
  links_15d,              ///< MG-GCN 5.1: 1.5D
  volume_15d,             ///< CAGNET 1.5D
  volume_2d,              ///< CAGNET 2D
  volume_of_cut,          ///< CAGNET 1D, sparsity-aware
  dependency_exchange,    ///< GraNNDis Eq. 3
  dependency_preloading,  ///< GraNNDis Eq. 4 to 8
  averaged_models,        ///< CATGNN 3.3 and 5.5
  averaged_gradients      ///< CATGNN 2.3: after every batch
};

/// A default that depends on the rest of the file, so the schema cannot hold it.
struct SettingDefault {
  std::string_view path, value;
};

/// Which vertices accuracies refer to.
struct EvaluatedOn {
  std::string vertices = "the whole graph";
  std::string words;  ///< words for reports; empty: no words are needed
};

/// Everything that decides which weights a strategy learns, beside data, model and training; apart
/// from rounding.
enum class LearnsFrom : std::uint8_t {
  data,  ///< nothing else (but which features are learned): it is whole-graph training, on any cut
         ///< and any number of ranks
  settings,  ///< its settings
  /// its settings and the partition; also the number of ranks, unless ranks take parts in turn
  cut
};

/// The description of a strategy. Defaults are those of whole-graph training with one part per
/// rank.
struct StrategyInfo {
  std::string_view name;  ///< strategy.type
  std::unique_ptr<Strategy> (*make)(const Problem&) = nullptr;
  /// A few words, for a strategy from outside; the schema describes the others.
  std::string_view description{};
  /// Which of strategy.overlap, permute, first_layer and column_tiles a strategy from outside
  /// honours; the schema says it for the others.
  std::vector<std::string_view> keys{};

  // ---- its settings: those of all strategies are read elsewhere

  /// Called before the schema fills in its defaults; the file may still be invalid.
  std::vector<SettingDefault> (*defaults)(const Settings& file) = nullptr;
  /// Combinations that the schema cannot express.
  ///
  /// Errors    ConfigError
  void (*require_sound)(const Settings& file) = nullptr;
  /// Reads its own keys, with every default filled in.
  void (*read)(const Settings& file, StrategyConfig& config) = nullptr;
  /// Sets strategy.batch, the seeds of a step; null if it has none.
  void (*set_batch)(StrategyConfig& config, std::int64_t seeds) = nullptr;
  /// Settings that it cannot honour.
  ///
  /// Errors    ConfigError
  void (*require_possible)(const StrategyConfig& config, const ModelConfig& model) = nullptr;

  // ---- the numbers of ranks it runs on

  /// The number of parts for a number of ranks, and the inverse.
  ///
  /// Errors    ConfigError: it cannot run on this number of ranks; the message lists what is
  ///           possible
  int (*parts_for)(const StrategyConfig& config, int ranks) = nullptr;
  int (*ranks_for)(const StrategyConfig& config, int parts) = nullptr;
  bool by_server = false;    ///< needs to know which ranks share a server, equally many on each
  bool deals_parts = false;  ///< takes any number of parts; ranks take them in turn

  // ---- what it needs of data and hardware

  std::string_view needs_structure{};   ///< why counts are not enough; empty: they are
  std::string_view needs_whole_data{};  ///< why parts in a folder are not enough; empty: they are
  bool edge_weights = false;            ///< multiplies by A as it is, weights of edges included
  bool edge_features = false;           ///< its edges have those of the data (Edges::features)
  bool magnifiable = false;             ///< a vertex may stand for several (dataset.magnify)
  bool splits_columns = false;          ///< a rank holds some of the columns of its rows
  bool sends_patterns = false;          ///< sparse patterns travel
  bool opens_stores = false;            ///< ranks read rows in the host memory of other ranks
  /// Whether every rank takes the same steps, and each step counts the own vertices of its covering
  /// group once. A batch norm sums over these.
  bool sums_over_vertices = false;
  bool carries_attention = false;  ///< its products have edges (Products::edges)
  bool carries_relations = false;  ///< its products have relations (Products::aggregate_relation)
  /// Rows of sources come in blocks, so it supports only additive attention.
  bool sources_pass_by = false;
  bool predicts_links = false;  ///< has Strategy::links() of a problem with such

  // ---- its runs

  int (*period)(const StrategyConfig& config, int epochs) = nullptr;  ///< see period_of()
  /// Why a checkpoint does not hold all that a resumed run needs; nothing: it does.
  std::optional<std::string> (*why_not_resumable)(const StrategyConfig& config) = nullptr;
  /// Why gradients are not those of the loss; nothing: they are.
  std::optional<std::string> (*inexactness)(const StrategyConfig& config) = nullptr;
  /// Settings that a resumed run must share with the one that left the checkpoint. Default: the cut
  /// if gradients are not those of the loss, else the data.
  LearnsFrom (*learns_from)(const StrategyConfig& config) = nullptr;
  EvaluatedOn (*evaluated_on)(const StrategyConfig& config) = nullptr;
  std::vector<ClosedForm> closed_forms{};
  /// Why no closed form applies with these settings; nothing: some do.
  std::optional<std::string> (*why_no_closed_forms)(const StrategyConfig& config) = nullptr;

  bool has(ClosedForm form) const;
};

/// Adds a strategy from outside when the program starts:
///   const AddStrategy added({.name = "mine", ...});
/// in a source file of the folder that was given to Meson's option `plugins`.
class AddStrategy {
 public:
  explicit AddStrategy(StrategyInfo strategy);
};

/// All strategies, in the order of listings; those from outside come last.
///
/// Errors    ConfigError: two with one name, an invalid name, no function that makes it
const std::vector<const StrategyInfo*>& strategy_infos();

/// How many of them belong to the tree; they come first.
std::size_t built_in_strategies();

/// The description of a strategy by its name.
///
/// Errors    ConfigError (no strategy has the name)
const StrategyInfo& strategy_info(std::string_view name);
inline const StrategyInfo& info_of(const StrategyConfig& config) {
  return strategy_info(config.type);
}

/// "spmm_1d, spmm_15d and spmm_2d": the strategies with a property.
std::string strategies_with(bool (*property)(const StrategyInfo&));

/// Checks that a strategy can honour its settings.
///
/// Errors    ConfigError
void require_possible(const StrategyConfig& strategy, const ModelConfig& model);

/// The number of parts into which a strategy cuts the vertices for `ranks` ranks.
///
/// Errors    ConfigError if the strategy cannot run on this number of ranks; the message lists what
///           is possible
int parts_for(const StrategyConfig& strategy, int ranks);

/// The inverse: how many ranks work on this number of parts.
int ranks_for(const StrategyConfig& strategy, int parts);

/// The period of a run in epochs: 1, or the epochs from one averaging of models to the next, or
/// from one broadcast of a layer's rows to the next (if all ranks send at once).
int period_of(const StrategyConfig& strategy, int epochs);

/// Whether a checkpoint holds what a strategy keeps from epoch to epoch.
///
/// Errors    ConfigError
void require_resumable(const StrategyConfig& strategy);

/// Why gradients are not those of the loss; nothing if they are.
std::optional<std::string> inexactness(const StrategyConfig& strategy);

/// Whether gradients are those of the whole graph: not of a batch, of a part or of samples.
bool has_whole_gradients(const StrategyConfig& strategy);

/// Everything that decides the learned weights, beside data, model and training.
LearnsFrom learns_from(const StrategyConfig& strategy);

/// Which vertices accuracies refer to.
EvaluatedOn evaluated_on(const StrategyConfig& strategy);

// ---- what descriptions share

/// strategy.degrees and strategy.evaluate_on.
void read_part_settings(const Settings& file, StrategyConfig& config);
/// strategy.learn_features, learned_types and features_rate.
std::optional<LearnedFeatures> read_learned_features(const Settings& file);
/// Combinations with them that the schema cannot express.
///
/// Errors    ConfigError
void require_sound_learned_features(const Settings& file);
/// strategy.fanouts: one number for each layer, the first at the seeds.
///
/// Errors    ConfigError
void require_fanouts(const std::vector<int>& fanouts, int layers);
/// A key that is a number in the file, or one of the words of which `words` tells, in quotes.
///
/// Errors    ConfigError: another word
void require_number_or(const Settings& file, const std::string& key, const std::string& words);
/// The same for strategy.batch. A number that depends on the device memory is known later.
void require_sound_batch(const Settings& file);
/// Why gradients of sampled neighbours are not those of the loss.
std::string sampled_fanouts(const std::vector<int>& fanouts);
/// For strategies that use rows of earlier epochs again (strategy.staleness).
std::optional<std::string> lost_with_stale_rows(const StrategyConfig& config);

}  // namespace orrery
