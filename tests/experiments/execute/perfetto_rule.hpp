// Which slices of a timeline Perfetto would not show.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace orrery::testing {

/// How a viewer makes nanoseconds of a number of microseconds.
using ToNanoseconds = std::function<double(double)>;

/// Slices that partially overlap the slice they begin in, on the same row: Perfetto's
/// slice_drop_overlapping_complete_event. A row holds the slices that are open at a moment; those
/// that end there are closed before the next one opens.
inline std::vector<std::string> dropped_slices(const nlohmann::json& trace,
                                               const ToNanoseconds& nanoseconds) {
  std::map<std::pair<int, int>, std::vector<double>> ends_of_open;  // by process and row
  std::map<std::pair<int, int>, std::vector<nlohmann::json>> rows;
  for (const auto& event : trace["traceEvents"])
    if (event["ph"] == "X") rows[{event["pid"], event["tid"]}].push_back(event);
  std::vector<std::string> dropped;
  for (auto& [row, slices] : rows) {
    std::stable_sort(slices.begin(), slices.end(), [](const auto& a, const auto& b) {
      return a["ts"].template get<double>() < b["ts"].template get<double>();
    });
    std::vector<double>& open = ends_of_open[row];
    for (const auto& slice : slices) {
      const double begin = nanoseconds(slice["ts"]), end = begin + nanoseconds(slice["dur"]);
      while (!open.empty() && open.back() <= begin) open.pop_back();
      if (!open.empty() && end > open.back())
        dropped.push_back(slice.dump());
      else
        open.push_back(end);
    }
  }
  return dropped;
}

/// Perfetto's own reading: the number is cut. (src/trace_processor/importers/json/json_utils.cc)
inline double cut(double microseconds) {
  return static_cast<double>(static_cast<std::int64_t>(microseconds * 1000.0));
}

}  // namespace orrery::testing
