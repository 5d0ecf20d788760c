// How an op reports that its shapes are wrong.
#pragma once

#include <fmt/core.h>

#include <memory>
#include <numeric>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/ops/ops.hpp"

namespace orrery {

/// Throws ShapeError "kind: requirement (operands)" unless the requirement holds.
template <class T>
void require(bool holds, const T& op, std::string_view requirement) {
  if (!holds)
    throw ShapeError(fmt::format("{}: {}, in: {}", T::kKind, requirement, to_string(Op(op))));
}

template <class T>
void require_contiguous(const T& op) {
  for (const Operand& o : op.operands())
    require(o.tensor.contiguous(), op, fmt::format("{} must be contiguous", o.name));
}

inline std::int64_t total(const std::shared_ptr<const std::vector<std::int64_t>>& rows) {
  return std::accumulate(rows->begin(), rows->end(), std::int64_t{0});
}

}  // namespace orrery
