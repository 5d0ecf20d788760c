#include "sim/traces/chakra.hpp"

#include <et.pb.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <google/protobuf/util/delimited_message_util.h>

#include <cmath>
#include <sstream>

#include "core/base/index.hpp"
#include "core/base/whole_file.hpp"

namespace orrery::sim {
namespace {

constexpr const char* kVersion = "0.0.4";  // of Chakra's schema

chakra::AttributeProto& attribute(chakra::Node& node, const char* name) {
  chakra::AttributeProto& made = *node.add_attr();
  made.set_name(name);
  return made;
}

std::uint64_t micros(double seconds) {
  return static_cast<std::uint64_t>(seconds > 0 ? std::max(1.0, std::round(seconds * 1e6)) : 0);
}

chakra::CollectiveCommType type_of(CollectiveKind kind) {
  if (kind == CollectiveKind::all_gather) return chakra::ALL_GATHER;
  if (kind == CollectiveKind::reduce_scatter) return chakra::REDUCE_SCATTER;
  return chakra::ALL_REDUCE;
}

bool of_all_ranks(const ExecutionTrace& trace, int group) {
  return trace.groups[at(group)].size() == trace.ranks.size();
}

chakra::Node to_chakra(const ExecutionTrace& trace, const TraceNode& node, std::uint64_t id,
                       int rank) {
  chakra::Node made;
  made.set_id(id);
  made.set_name(node.name);
  for (const std::uint32_t before : node.after) made.add_data_deps(before);
  attribute(made, "lane").set_string_val(std::string(name_of(node.lane)));
  const bool computes = node.type == TraceNode::Type::compute;
  attribute(made, "is_cpu_op").set_bool_val(computes && node.lane == Lane::host);
  switch (node.type) {
    case TraceNode::Type::compute:
      made.set_type(chakra::COMP_NODE);
      made.set_duration_micros(micros(node.seconds));
      attribute(made, "seconds").set_double_val(node.seconds);
      attribute(made, "num_ops").set_int64_val(std::llround(node.flops));
      attribute(made, "tensor_size").set_uint64_val(static_cast<std::uint64_t>(node.bytes));
      break;
    case TraceNode::Type::send:
    case TraceNode::Type::receive: {
      const bool sends = node.type == TraceNode::Type::send;
      made.set_type(sends ? chakra::COMM_SEND_NODE : chakra::COMM_RECV_NODE);
      attribute(made, "comm_src").set_int32_val(sends ? rank : node.peer);
      attribute(made, "comm_dst").set_int32_val(sends ? node.peer : rank);
      attribute(made, "comm_tag").set_int32_val(node.tag);
      attribute(made, "comm_size").set_int64_val(node.bytes);
      break;
    }
    case TraceNode::Type::collective:
      made.set_type(chakra::COMM_COLL_NODE);
      attribute(made, "comm_type").set_int64_val(type_of(node.collective));
      attribute(made, "comm_size").set_int64_val(node.bytes);
      if (!of_all_ranks(trace, node.group))
        attribute(made, "pg_name").set_string_val(std::to_string(node.group));
      break;
  }
  return made;
}

}  // namespace

std::string chakra_text(const ExecutionTrace& trace, int rank, const std::string& experiment) {
  std::ostringstream out;
  chakra::GlobalMetadata head;
  head.set_version(kVersion);
  chakra::AttributeProto& origin = *head.add_attr();
  origin.set_name("experiment");
  origin.set_string_val(experiment);
  google::protobuf::util::SerializeDelimitedToOstream(head, &out);
  std::uint64_t id = 0;
  for (const TraceNode& node : trace.ranks[at(rank)])
    google::protobuf::util::SerializeDelimitedToOstream(to_chakra(trace, node, id++, rank), &out);
  return std::move(out).str();
}

std::string chakra_groups(const ExecutionTrace& trace) {
  std::string text;
  for (std::size_t g = 0; g < trace.groups.size(); ++g)
    if (!of_all_ranks(trace, static_cast<int>(g)))
      text += fmt::format("{}\n  \"{}\": [{}]", text.empty() ? "{" : ",", g,
                          fmt::join(trace.groups[g], ", "));
  return text.empty() ? text : text + "\n}\n";
}

std::int64_t write_chakra(const ExecutionTrace& trace, const std::filesystem::path& folder,
                          const std::string& name) {
  std::int64_t bytes = 0;
  const auto write = [&](const std::string& file, const std::string& text) {
    write_file(folder / file, text);
    bytes += static_cast<std::int64_t>(text.size());
  };
  for (std::size_t r = 0; r < trace.ranks.size(); ++r)
    write(fmt::format("{}.{}.et", name, r), chakra_text(trace, static_cast<int>(r), name));
  if (const std::string groups = chakra_groups(trace); !groups.empty())
    write("comm_group.json", groups);
  return bytes;
}

}  // namespace orrery::sim
