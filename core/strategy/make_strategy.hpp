// Makes the strategy that a problem names.
#pragma once

#include <memory>

#include "core/strategy/strategy.hpp"

namespace orrery {

/// Makes the problem's strategy, after all checks that need no runtime.
///
/// Errors    ConfigError (settings the strategy cannot honour) · NeedsStructure (statistics where
///           the strategy needs the graph)
std::unique_ptr<Strategy> make_strategy(const Problem& problem);

// One per strategy, in the file of that name.
std::unique_ptr<Strategy> make_full_graph(const Problem& problem);
std::unique_ptr<Strategy> make_spmm_1d(const Problem& problem);
std::unique_ptr<Strategy> make_spmm_15d(const Problem& problem);
std::unique_ptr<Strategy> make_spmm_2d(const Problem& problem);
std::unique_ptr<Strategy> make_model_averaging(const Problem& problem);
std::unique_ptr<Strategy> make_shared_preloading(const Problem& problem);

}  // namespace orrery
