// Numbers and names of the calls whose messages must not be mixed up.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "core/ops/ops.hpp"

namespace orrery::mpi {

/// Exchanges of the host programs, numbered after the ops.
enum class Exchange : std::uint8_t { share, gather, all_gather, any, leave };
constexpr std::array<std::string_view, 5> kExchanges{"share", "gather", "all_gather", "any",
                                                     "the end"};

constexpr int kOps = static_cast<int>(std::variant_size_v<Op>);
constexpr int kind_of_op(const Op& op) { return static_cast<int>(op.index()); }
constexpr int kind_of_exchange(Exchange e) { return kOps + static_cast<int>(e); }

/// The name of an op or exchange by its number.
inline std::string_view kind_name(int kind) {
  constexpr auto ops = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<std::string_view, sizeof...(I)>{std::variant_alternative_t<I, Op>::kKind...};
  }
  (std::make_index_sequence<std::variant_size_v<Op>>());
  const auto at = static_cast<std::size_t>(kind);
  if (at < ops.size()) return ops[at];
  return at - ops.size() < kExchanges.size() ? kExchanges[at - ops.size()] : "an unknown call";
}

}  // namespace orrery::mpi
