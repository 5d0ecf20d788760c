#include <sstream>
#include <stdexcept>

#include "core/base/index.hpp"
#include "tests/sim/traces/read_traces.hpp"

namespace orrery::sim::test {
namespace {

/// The next word, which must be `expected`.
void take(std::istream& in, const std::string& expected) {
  std::string word;
  if (!(in >> word) || word != expected)
    throw std::runtime_error("expected " + expected + ", found " + word);
}

template <class Number>
Number number(std::istream& in) {
  Number value{};
  if (!(in >> value)) throw std::runtime_error("expected a number");
  return value;
}

/// "l12" or "l12:"
std::size_t label(const std::string& word) {
  if (word.empty() || word[0] != 'l') throw std::runtime_error("expected a label, found " + word);
  return std::stoul(word.substr(1));
}

void read_cpu(std::istream& in, TraceNode& node) {
  take(in, "cpu");
  node.lane = static_cast<Lane>(number<int>(in));
}

TraceNode read_operation(std::istream& in) {
  TraceNode node;
  std::string what;
  in >> what;
  if (what == "calc") {
    node.seconds = static_cast<double>(number<std::int64_t>(in)) * 1e-9;
    read_cpu(in, node);
    return node;
  }
  if (what != "send" && what != "recv") throw std::runtime_error("unknown operation " + what);
  node.type = what == "send" ? TraceNode::Type::send : TraceNode::Type::receive;
  node.bytes = number<std::int64_t>(in);
  take(in, "b");
  take(in, what == "send" ? "to" : "from");
  node.peer = number<int>(in);
  take(in, "tag");
  node.tag = number<int>(in);
  read_cpu(in, node);
  return node;
}

}  // namespace

ExecutionTrace read_goal(const std::string& text) {
  std::istringstream in(text);
  take(in, "num_ranks");
  ExecutionTrace trace;
  trace.ranks.resize(number<std::size_t>(in));
  for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
    take(in, "rank");
    if (number<std::size_t>(in) != r) throw std::runtime_error("ranks out of order");
    take(in, "{");
    auto& nodes = trace.ranks[r];
    for (std::string word; in >> word && word != "}";) {
      const std::size_t n = label(word);
      if (word.back() == ':') {
        if (n != nodes.size()) throw std::runtime_error("labels with gaps");
        nodes.push_back(read_operation(in));
        continue;
      }
      take(in, "requires");
      std::string before;
      in >> before;
      nodes.at(n).after.push_back(static_cast<std::uint32_t>(label(before)));
    }
  }
  return trace;
}

}  // namespace orrery::sim::test
