#include "experiments/execute/trace.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

#include "core/base/index.hpp"

namespace orrery {
namespace {

/// Colour names that the viewers know, so that communication stands out.
std::string_view colour(const Span& span) {
  if (!span.communicates) return "good";
  if (span.phase.stage == Stage::synchronise) return "bad";
  return span.external > 0.5 ? "terrible" : "yellow";
}

std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

/// A length in microseconds, to the nanosecond.
std::string length(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

/// A moment in microseconds: a quarter beyond its nanosecond, because the viewers read it as a
/// floating-point number and cut (Perfetto) or round what they get to nanoseconds. On the nanosecond
/// itself, cutting would move some moments by one and others not.
std::string moment(std::int64_t ns) { return length(ns) + "25"; }

/// Begin and end of a span, both rounded, so that spans which meet still meet. What the last bit
/// of a sum makes overlap by a nanosecond (`lane_ends`: where the lane's last span ended) is moved.
std::pair<std::int64_t, std::int64_t> rounded(const Span& span, std::int64_t lane_ends) {
  std::int64_t begin = nanoseconds(span.begin);
  if (begin == lane_ends - 1) begin = lane_ends;
  return {begin, std::max(begin, nanoseconds(span.end))};
}

}  // namespace

std::string chrome_trace(const std::vector<Timeline>& timelines) {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  auto out = std::back_inserter(text);
  const char* separator = "";
  for (const Timeline& timeline : timelines) {
    fmt::format_to(out,
                   "{}{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":"
                   "\"rank {}\"}}}}",
                   separator, timeline.rank, timeline.rank);
    separator = ",\n";
    std::array<bool, kLanes> used{};
    std::array<std::int64_t, kLanes> ends{};
    for (const Span& span : timeline.spans) {
      used[at(span.lane)] = true;
      const auto [begin, end] = rounded(span, ends[at(span.lane)]);
      ends[at(span.lane)] = end;
      fmt::format_to(
          out,
          ",\n{{\"ph\":\"X\",\"name\":\"{}\",\"cat\":\"{}\",\"cname\":\"{}\",\"pid\":{},\"tid\":{},"
          "\"ts\":{},\"dur\":{},\"args\":{{\"phase\":\"{}\",\"flop\":{},\"bytes\":{}}}}}",
          span.kind, span.communicates ? "communication" : "computation", colour(span),
          timeline.rank, static_cast<int>(span.lane), moment(begin), length(end - begin),
          to_string(span.phase), span.flops, span.bytes);
    }
    for (const Timeline::MemoryMark& mark : timeline.memory)
      fmt::format_to(out,
                     ",\n{{\"ph\":\"C\",\"name\":\"device bytes\",\"pid\":{},\"ts\":{},\"args\":"
                     "{{\"bytes\":{}}}}}",
                     timeline.rank, moment(nanoseconds(mark.at)), mark.device_bytes);
    for (int lane = 0; lane < kLanes; ++lane)
      if (used[at(lane)])
        fmt::format_to(out,
                       ",\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":"
                       "{{\"name\":\"{}\"}}}}",
                       timeline.rank, lane, name_of(static_cast<Lane>(lane)));
  }
  return text + "\n]}\n";
}

}  // namespace orrery
