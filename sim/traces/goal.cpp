#include "sim/traces/goal.hpp"

#include <fmt/format.h>

#include <cassert>
#include <cmath>
#include <iterator>

namespace orrery::sim {

std::string goal_text(const ExecutionTrace& trace) {
  fmt::memory_buffer out;
  const auto write = [&](auto... words) { fmt::format_to(std::back_inserter(out), words...); };
  write("num_ranks {}\n", trace.ranks.size());
  for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
    write("\nrank {} {{\n", r);
    for (std::size_t n = 0; n < trace.ranks[r].size(); ++n) {
      const TraceNode& node = trace.ranks[r][n];
      assert(node.type != TraceNode::Type::collective);
      const int cpu = static_cast<int>(node.lane);
      if (node.type == TraceNode::Type::compute)
        write("l{}: calc {} cpu {}\n", n, std::llround(node.seconds * 1e9), cpu);
      else
        write("l{}: {} {}b {} {} tag {} cpu {}\n", n,
              node.type == TraceNode::Type::send ? "send" : "recv", node.bytes,
              node.type == TraceNode::Type::send ? "to" : "from", node.peer, node.tag, cpu);
      for (const std::uint32_t before : node.after) write("l{} requires l{}\n", n, before);
    }
    write("}}\n");
  }
  return fmt::to_string(out);
}

}  // namespace orrery::sim
