// The single check of the closed forms: an argument for which an equation is not valid.
#pragma once

#include <cmath>
#include <string>

#include "core/base/error.hpp"

namespace orrery::cost {

/// Errors    ConfigError with `what` unless `holds`; a comparison with NaN does not hold
inline void require(bool holds, const std::string& what) {
  if (!holds) throw ConfigError("", what);
}
inline void require_positive(double value, const std::string& name) {
  require(value > 0 && std::isfinite(value), name + " must be positive and finite");
}
/// A number of things: servers, layers, processes.
inline void require_count(double value, const std::string& name) {
  require(value >= 1 && std::isfinite(value), name + " must be at least 1");
}

}  // namespace orrery::cost
