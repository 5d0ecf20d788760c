// The output of the program message_probe: the times of its job's collectives as JSON.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/calibrate/collective_times.hpp"

namespace orrery::calibrate {

inline nlohmann::json to_json(const CollectiveTimes& t) {
  return {{"small_exchange_seconds", t.small_exchange_seconds},
          {"small_all_reduce_seconds", t.small_all_reduce_seconds},
          {"exchange_seconds", t.exchange_seconds},
          {"exchange_bytes", t.exchange_bytes},
          {"broadcast_seconds", t.broadcast_seconds},
          {"all_reduce_seconds", t.all_reduce_seconds},
          {"all_reduce_bytes", t.all_reduce_bytes},
          {"part_exchange_seconds", t.part_exchange_seconds},
          {"part_all_reduce_seconds", t.part_all_reduce_seconds},
          {"part_bytes", t.part_bytes}};
}

/// Errors    nlohmann::json's if a number is missing
inline CollectiveTimes from_json(const nlohmann::json& j) {
  return {j.at("small_exchange_seconds"),  j.at("small_all_reduce_seconds"),
          j.at("exchange_seconds"),        j.at("exchange_bytes"),
          j.at("broadcast_seconds"),       j.at("all_reduce_seconds"),
          j.at("all_reduce_bytes"),        j.at("part_exchange_seconds"),
          j.at("part_all_reduce_seconds"), j.at("part_bytes")};
}

/// The larger of each two times; bytes are the same on all ranks.
inline CollectiveTimes slower(const CollectiveTimes& a, const CollectiveTimes& b) {
  return {std::max(a.small_exchange_seconds, b.small_exchange_seconds),
          std::max(a.small_all_reduce_seconds, b.small_all_reduce_seconds),
          std::max(a.exchange_seconds, b.exchange_seconds),
          std::max(a.exchange_bytes, b.exchange_bytes),
          std::max(a.broadcast_seconds, b.broadcast_seconds),
          std::max(a.all_reduce_seconds, b.all_reduce_seconds),
          std::max(a.all_reduce_bytes, b.all_reduce_bytes),
          std::max(a.part_exchange_seconds, b.part_exchange_seconds),
          std::max(a.part_all_reduce_seconds, b.part_all_reduce_seconds),
          std::max(a.part_bytes, b.part_bytes)};
}

}  // namespace orrery::calibrate
