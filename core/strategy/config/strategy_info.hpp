// What the rest of the program asks of a strategy, answered in one place: each strategy's own file
// has one description of it.
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

/// Equations of the papers that can say something about a strategy.
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
  averaged_models         ///< CATGNN 3.3 and 5.5
};

/// A default that depends on the rest of the file, so the schema cannot have it.
struct SettingDefault {
  std::string_view path, value;
};

/// What accuracies are of.
struct EvaluatedOn {
  std::string vertices = "the whole graph";
  std::string words;  ///< how a report says so; empty: it goes without saying
};

/// What the weights that a strategy learns depend on beside data, model and training; rounding apart.
enum class LearnsFrom : std::uint8_t {
  data,      ///< nothing: it is whole-graph training, on any cut and any number of ranks
  settings,  ///< its settings
  cut        ///< its settings and the partition; the ranks too, where it does not deal out parts
};

/// The description of a strategy. What is left out is as in whole-graph training with one part a
/// rank.
struct StrategyInfo {
  std::string_view name;  ///< strategy.type
  std::unique_ptr<Strategy> (*make)(const Problem&) = nullptr;
  /// Of one from outside, a few words; the schema has those of the others.
  std::string_view description{};
  /// Which of strategy.overlap, permute, first_layer and column_tiles one from outside honours; the
  /// schema says so of the others.
  std::vector<std::string_view> keys{};

  // ---- its settings: those of all strategies are read elsewhere

  /// Before the schema fills in its own; the file need not be valid yet.
  std::vector<SettingDefault> (*defaults)(const Settings& file) = nullptr;
  /// Combinations that the schema cannot express.
  ///
  /// Errors    ConfigError
  void (*require_sound)(const Settings& file) = nullptr;
  /// Reads its own keys, with every default filled in.
  void (*read)(const Settings& file, StrategyConfig& config) = nullptr;
  /// What it cannot honour.
  ///
  /// Errors    ConfigError
  void (*require_possible)(const StrategyConfig& config, const ModelConfig& model) = nullptr;

  // ---- its world

  /// Into how many parts it cuts the vertices for so many ranks, and the inverse.
  ///
  /// Errors    ConfigError: so many ranks are no world of its; it lists what is possible
  int (*parts_for)(const StrategyConfig& config, int ranks) = nullptr;
  int (*ranks_for)(const StrategyConfig& config, int parts) = nullptr;
  bool by_server = false;    ///< has to know which ranks share a server, equally many on each
  bool deals_parts = false;  ///< takes any number of parts, which it deals to its ranks

  // ---- what it needs of data and hardware

  std::string_view needs_structure{};   ///< why counts are not enough for it; empty: they are
  std::string_view needs_whole_data{};  ///< why parts in a folder are not enough; empty: they are
  bool edge_weights = false;            ///< multiplies by A as it is, weights of edges included
  bool magnifiable = false;             ///< a vertex may stand for several (dataset.magnify)
  bool splits_columns = false;          ///< a rank holds some of the columns of its rows
  bool sends_patterns = false;          ///< sparse patterns travel
  bool opens_stores = false;            ///< rows are read out of the memory of other ranks' hosts
  /// Every rank takes the same steps, in each of which the own vertices of its covering group are
  /// counted once: what a batch norm sums over.
  bool sums_over_vertices = false;
  bool carries_attention = false;  ///< its products have edges (Products::edges)
  /// Rows of sources pass by in blocks, so that it carries additive attention alone.
  bool sources_pass_by = false;
  bool predicts_links = false;  ///< has Strategy::links() of a problem with such

  // ---- its runs

  int (*period)(const StrategyConfig& config, int epochs) = nullptr;  ///< see period_of()
  /// Why a checkpoint does not hold all that it goes on from; nothing: it does.
  std::optional<std::string> (*why_not_resumable)(const StrategyConfig& config) = nullptr;
  /// Why gradients are not those of the loss; nothing: they are.
  std::optional<std::string> (*inexactness)(const StrategyConfig& config) = nullptr;
  /// What a run that goes on from a checkpoint must share with the one that left it; left out: the
  /// cut where gradients are not those of the loss, the data where they are.
  LearnsFrom (*learns_from)(const StrategyConfig& config) = nullptr;
  EvaluatedOn (*evaluated_on)(const StrategyConfig& config) = nullptr;
  std::vector<ClosedForm> closed_forms{};
  /// Why none of them holds with these settings; nothing: they do.
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

/// All strategies, in the order in which they are listed for people; those from outside last.
///
/// Errors    ConfigError: two of one name, a name that is none, no function that makes it
const std::vector<const StrategyInfo*>& strategy_infos();

/// How many of them are not from outside; they stand first.
std::size_t built_in_strategies();

/// The description of a strategy by its name.
///
/// Errors    ConfigError (no strategy has the name)
const StrategyInfo& strategy_info(std::string_view name);
inline const StrategyInfo& info_of(const StrategyConfig& config) {
  return strategy_info(config.type);
}

/// "spmm_1d, spmm_15d and spmm_2d": those with a property.
std::string strategies_with(bool (*property)(const StrategyInfo&));

/// Whether a strategy can honour its settings.
///
/// Errors    ConfigError
void require_possible(const StrategyConfig& strategy, const ModelConfig& model);

/// Into how many parts a strategy cuts the vertices for a world of `ranks` ranks.
///
/// Errors    ConfigError where the ranks form no world of the strategy; it lists what is possible
int parts_for(const StrategyConfig& strategy, int ranks);

/// The inverse: how many ranks work on so many parts.
int ranks_for(const StrategyConfig& strategy, int parts);

/// After how many of its epochs a run repeats itself: one, from one averaging of models to the
/// next, or from one broadcast of a layer's rows to the next (where all ranks send at once).
int period_of(const StrategyConfig& strategy, int epochs);

/// Whether what a strategy keeps from epoch to epoch is in a checkpoint.
///
/// Errors    ConfigError
void require_resumable(const StrategyConfig& strategy);

/// Why gradients are not those of the loss; nothing where they are.
std::optional<std::string> inexactness(const StrategyConfig& strategy);

/// What the weights depend on beside data, model and training.
LearnsFrom learns_from(const StrategyConfig& strategy);

/// What accuracies are of.
EvaluatedOn evaluated_on(const StrategyConfig& strategy);

// ---- what descriptions share

/// strategy.degrees and strategy.evaluate_on.
void read_part_settings(const Settings& file, StrategyConfig& config);
/// strategy.fanouts: one number for each layer, the first at the seeds.
///
/// Errors    ConfigError
void require_fanouts(const std::vector<int>& fanouts, int layers);
/// Why gradients of sampled neighbours are not those of the loss.
std::string sampled_fanouts(const std::vector<int>& fanouts);
/// Of strategies that use rows of earlier epochs again (strategy.staleness).
std::optional<std::string> lost_with_stale_rows(const StrategyConfig& config);

}  // namespace orrery
