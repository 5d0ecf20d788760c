// How profiles are looked up: by price key, else by kind.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "sim/price/profile.hpp"

namespace orrery::sim {

/// The entry of a key ("gemm/transpose_a"), else of its kind ("gemm"); null: there is none.
template <class Value>
const Value* entry(const std::map<std::string, Value>& by_kind, std::string_view key) {
  if (const auto exact = by_kind.find(std::string(key)); exact != by_kind.end())
    return &exact->second;
  const auto kind = by_kind.find(std::string(key.substr(0, key.find('/'))));
  return kind == by_kind.end() ? nullptr : &kind->second;
}

/// What the prices of a key are multiplied by.
inline double scale_of(const DeviceProfile& profile, std::string_view key) {
  if (profile.scale.empty()) return 1;
  double factor = 1;
  if (const auto all = profile.scale.find("*"); all != profile.scale.end()) factor *= all->second;
  if (const double* own = entry(profile.scale, key)) factor *= *own;
  return factor;
}

}  // namespace orrery::sim
