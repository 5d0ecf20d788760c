#include "sim/traces/goal.hpp"

#include <fmt/format.h>

#include <cassert>
#include <cmath>
#include <iterator>

namespace orrery::sim {

std::string goal_text(const ExecutionTrace& trace) {
  std::string out = fmt::format("num_ranks {}\n", trace.ranks.size());
  const auto end = [&] { return std::back_inserter(out); };
  for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
    fmt::format_to(end(), "\nrank {} {{\n", r);
    for (std::size_t n = 0; n < trace.ranks[r].size(); ++n) {
      const TraceNode& node = trace.ranks[r][n];
      assert(node.type != TraceNode::Type::collective);
      const int cpu = static_cast<int>(node.lane);
      if (node.type == TraceNode::Type::compute)
        fmt::format_to(end(), "l{}: calc {} cpu {}\n", n, std::llround(node.seconds * 1e9), cpu);
      else
        fmt::format_to(end(), "l{}: {} {}b {} {} tag {} cpu {}\n", n,
                       node.type == TraceNode::Type::send ? "send" : "recv", node.bytes,
                       node.type == TraceNode::Type::send ? "to" : "from", node.peer, node.tag,
                       cpu);
      for (const std::uint32_t before : node.after)
        fmt::format_to(end(), "l{} requires l{}\n", n, before);
    }
    out += "}\n";
  }
  return out;
}

}  // namespace orrery::sim
