#include "experiments/execute/trace.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/index.hpp"

namespace orrery {
namespace {

/// The largest group in which arrows lead from each rank to each.
constexpr int kAllPairs = 4;

/// Colour names that the viewers know, chosen so that communication stands out.
std::string_view colour(const Span& span) {
  if (!span.communicates) return part_of(span).seconds == &Breakdown::compute ? "good" : "grey";
  if (span.phase.stage == Stage::synchronise) return "bad";
  return span.external > 0.5 ? "terrible" : "yellow";
}

/// The key of the part of an epoch that it is charged to, after a word for all communication.
std::string category(const Span& span) {
  return fmt::format("{}{}", span.communicates ? "communication," : "", part_of(span).key);
}

std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

/// A length in microseconds, to the nanosecond.
std::string length(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

/// A moment in microseconds, a quarter after its nanosecond: viewers read it as a floating-point
/// number and cut (Perfetto) or round it to nanoseconds. Exactly on the nanosecond, cutting would
/// move some moments by one and others not.
std::string moment(std::int64_t ns) { return fmt::format("{}25", length(ns)); }

/// Begin and end of a span, both rounded, so that adjacent spans still meet. Removes an overlap of
/// one nanosecond caused by the last bit of a sum (`lane_ends`: end of the lane's last span).
std::pair<std::int64_t, std::int64_t> rounded(const Span& span, std::int64_t lane_ends) {
  std::int64_t begin = nanoseconds(span.begin);
  if (begin == lane_ends - 1) begin = lane_ends;
  return {begin, std::max(begin, nanoseconds(span.end))};
}

/// One rank's part in a collective, as in the file.
struct Part {
  int rank = 0;
  Lane lane = Lane::comm;
  std::int64_t begin = 0;
  int root = -1;
};

/// A collective: its group, its kind, and how often this group did this kind in this phase before.
using Collective = std::tuple<int, int, int, std::string_view, int, int, int, int>;

/// Calls lead(from, to) for the pairs of parts between which data moves.
template <class Lead>
void for_each_arrow(const Group& group, std::string_view kind, const std::vector<Part>& parts,
                    const Lead& lead) {
  const auto of_index = [&](int index) -> const Part* {
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const Part& part) {
      return part.rank == group.rank_of(index);
    });
    return found == parts.end() ? nullptr : &*found;
  };
  const auto lead_between = [&](int from, int to) {
    const Part *source = of_index(from), *target = of_index(to);
    if (from != to && source != nullptr && target != nullptr) lead(*source, *target);
  };
  if (kind == "send_recv") {
    for (const Part& part : parts)
      if (part.root >= 0) lead_between(group.index_of(part.rank), part.root);
    return;
  }
  const int root = parts.front().root;
  for (int i = 0; i < group.size; ++i)
    if (root >= 0 && kind == "reduce")
      lead_between(i, root);
    else if (root >= 0)
      lead_between(root, i);
    else if (group.size > kAllPairs)
      lead_between(i, (i + 1) % group.size);
    else
      for (int j = 0; j < group.size; ++j) lead_between(i, j);
}

std::set<int> epochs_of(const std::vector<Timeline>& timelines) {
  std::set<int> epochs;
  for (const Timeline& timeline : timelines)
    for (const Span& span : timeline.spans)
      if (span.phase.in_epoch()) epochs.insert(span.phase.epoch);
  return epochs;
}

/// Writes the file: one event per line, separated by commas.
class TraceWriter {
 public:
  explicit TraceWriter(const nlohmann::ordered_json& about) {
    // Names may contain bytes that are not UTF-8.
    const auto replace = nlohmann::ordered_json::error_handler_t::replace;
    text_ = fmt::format("{{\"displayTimeUnit\":\"ms\",\"otherData\":{},\"traceEvents\":[\n",
                        about.dump(-1, ' ', false, replace));
  }

  void add(const Timeline& timeline) {
    rank_ = timeline.rank;
    event("\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":\"rank {}\"}}",
          rank_, rank_);
    event("\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{},\"args\":{{\"sort_index\":{}}}",
          rank_, rank_);
    std::array<bool, kLanes> used{};
    std::array<std::int64_t, kLanes> ends{};
    std::map<int, double> epochs;  // where each begins
    std::map<Collective, int> seen;
    for (const Span& span : timeline.spans) {
      used[at(span.lane)] = true;
      const auto [begin, end] = rounded(span, ends[at(span.lane)]);
      ends[at(span.lane)] = end;
      add(span, begin, end);
      if (span.phase.in_epoch()) epochs.try_emplace(span.phase.epoch, span.begin);
      if (span.group.size > 1) take_part(span, begin, seen);
    }
    for (const auto& [epoch, begin] : epochs)
      event("\"ph\":\"i\",\"s\":\"p\",\"name\":\"epoch {}\",\"pid\":{},\"tid\":0,\"ts\":{}", epoch,
            rank_, moment(nanoseconds(begin)));
    for (const Timeline::MemoryMark& mark : timeline.memory)
      event("\"ph\":\"C\",\"name\":\"device bytes\",\"pid\":{},\"ts\":{},\"args\":{{\"bytes\":{}}}",
            rank_, moment(nanoseconds(mark.at)), mark.device_bytes);
    for (int lane = 0; lane < kLanes; ++lane)
      if (used[at(lane)]) name_row(lane);
  }

  /// The file, with the arrows between what was added.
  std::string finish() {
    int number = 0;
    for (const auto& [collective, parts] : collectives_) {
      const Group group{0, std::get<0>(collective), std::get<1>(collective),
                        std::get<2>(collective)};
      for_each_arrow(group, std::get<3>(collective), parts, [&](const Part& from, const Part& to) {
        ++number;
        arrow_end("\"ph\":\"s\"", number, from);
        arrow_end("\"ph\":\"f\",\"bp\":\"e\"", number, to);
      });
    }
    return std::move(text_) + "\n]}\n";
  }

 private:
  void add(const Span& span, std::int64_t begin, std::int64_t end) {
    std::string shape;
    if (span.shape.size() > 0)
      shape = fmt::format(",\"shape\":\"{} x {}\"", span.shape.rows, span.shape.cols);
    event(
        "\"ph\":\"X\",\"name\":\"{}\",\"cat\":\"{}\",\"cname\":\"{}\",\"pid\":{},\"tid\":{},"
        "\"ts\":{},\"dur\":{},\"args\":{{\"phase\":\"{}\",\"flop\":{},\"bytes\":{}{}}}",
        span.kind, category(span), colour(span), rank_, static_cast<int>(span.lane), moment(begin),
        length(end - begin), to_string(span.phase), span.flops, span.bytes, shape);
  }

  void name_row(int lane) {
    event(
        "\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":\"{}\"}}",
        rank_, lane, name_of(static_cast<Lane>(lane)));
    event(
        "\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":{},\"tid\":{},\"args\":"
        "{{\"sort_index\":{}}}",
        rank_, lane, lane);
  }

  void take_part(const Span& span, std::int64_t begin, std::map<Collective, int>& seen) {
    const auto& [id, first, size, stride] = span.group;
    Collective which{first,
                     size,
                     stride,
                     span.kind,
                     span.phase.epoch,
                     static_cast<int>(span.phase.stage),
                     span.phase.layer,
                     0};
    std::get<7>(which) = seen[which]++;
    collectives_[which].push_back({rank_, span.lane, begin, span.root});
  }

  void arrow_end(std::string_view what, int number, const Part& part) {
    event("{},\"name\":\"moves\",\"cat\":\"flow\",\"id\":{},\"pid\":{},\"tid\":{},\"ts\":{}", what,
          number, part.rank, static_cast<int>(part.lane), moment(part.begin));
  }

  template <class... T>
  void event(fmt::format_string<T...> format, T&&... values) {
    text_ += separator_;
    text_ += '{';
    fmt::format_to(std::back_inserter(text_), format, std::forward<T>(values)...);
    text_ += '}';
    separator_ = ",\n";
  }

  std::string text_;
  const char* separator_ = "";
  int rank_ = 0;
  std::map<Collective, std::vector<Part>> collectives_;
};

}  // namespace

std::string chrome_trace(const std::vector<Timeline>& timelines,
                         const nlohmann::ordered_json& about) {
  nlohmann::ordered_json told = about;
  told["epochs"] = epochs_of(timelines);
  TraceWriter writer(told);
  for (const Timeline& timeline : timelines) writer.add(timeline);
  return writer.finish();
}

}  // namespace orrery
