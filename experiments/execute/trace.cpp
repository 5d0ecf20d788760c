#include "experiments/execute/trace.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <array>
#include <iterator>

#include "core/base/index.hpp"

namespace orrery {
namespace {

/// Colour names that the viewers know, so that communication stands out.
std::string_view colour(const Span& span) {
  if (!span.communicates) return "good";
  if (span.phase.stage == Stage::synchronise) return "bad";
  return span.crosses_servers ? "terrible" : "yellow";
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
    for (const Span& span : timeline.spans) {
      used[at(span.lane)] = true;
      fmt::format_to(
          out,
          ",\n{{\"ph\":\"X\",\"name\":\"{}\",\"cat\":\"{}\",\"cname\":\"{}\",\"pid\":{},\"tid\":{},"
          "\"ts\":{:.3f},\"dur\":{:.3f},\"args\":{{\"phase\":\"{}\",\"flop\":{},\"bytes\":{}}}}}",
          span.kind, span.communicates ? "communication" : "computation", colour(span),
          timeline.rank, static_cast<int>(span.lane), span.begin * 1e6,
          (span.end - span.begin) * 1e6, to_string(span.phase), span.flops, span.bytes);
    }
    for (const Timeline::MemoryMark& mark : timeline.memory)
      fmt::format_to(
          out,
          ",\n{{\"ph\":\"C\",\"name\":\"device bytes\",\"pid\":{},\"ts\":{:.3f},\"args\":"
          "{{\"bytes\":{}}}}}",
          timeline.rank, mark.at * 1e6, mark.device_bytes);
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
