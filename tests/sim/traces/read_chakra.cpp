#include <et.pb.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/delimited_message_util.h>

#include <map>
#include <stdexcept>

#include "core/base/index.hpp"
#include "tests/sim/traces/read_traces.hpp"

namespace orrery::sim::test {
namespace {

Lane lane_named(const std::string& name) {
  for (int l = 0; l < kLanes; ++l)
    if (name_of(static_cast<Lane>(l)) == name) return static_cast<Lane>(l);
  throw std::runtime_error("no lane " + name);
}

CollectiveKind kind_of(std::int64_t type) {
  if (type == chakra::ALL_GATHER) return CollectiveKind::all_gather;
  if (type == chakra::REDUCE_SCATTER) return CollectiveKind::reduce_scatter;
  return CollectiveKind::all_reduce;
}

TraceNode node_of(const chakra::Node& node, int rank, int all) {
  std::map<std::string, const chakra::AttributeProto*> has;
  for (const auto& attribute : node.attr()) has[attribute.name()] = &attribute;
  TraceNode made;
  made.name = node.name();
  made.lane = lane_named(has.at("lane")->string_val());
  for (const auto before : node.data_deps())
    made.after.push_back(static_cast<std::uint32_t>(before));
  if (node.type() == chakra::COMP_NODE) {
    made.seconds = has.at("seconds")->double_val();
    made.flops = static_cast<double>(has.at("num_ops")->int64_val());
    made.bytes = static_cast<std::int64_t>(has.at("tensor_size")->uint64_val());
    return made;
  }
  made.bytes = has.at("comm_size")->int64_val();
  if (node.type() == chakra::COMM_COLL_NODE) {
    made.type = TraceNode::Type::collective;
    made.collective = kind_of(has.at("comm_type")->int64_val());
    made.group = has.contains("pg_name") ? std::stoi(has.at("pg_name")->string_val()) : all;
    return made;
  }
  const bool sends = node.type() == chakra::COMM_SEND_NODE;
  made.type = sends ? TraceNode::Type::send : TraceNode::Type::receive;
  const int from = has.at("comm_src")->int32_val(), to = has.at("comm_dst")->int32_val();
  if ((sends ? from : to) != rank) throw std::runtime_error("a message of another rank");
  made.peer = sends ? to : from;
  made.tag = has.at("comm_tag")->int32_val();
  return made;
}

}  // namespace

std::vector<TraceNode> read_chakra(const std::string& bytes, int rank, int all) {
  google::protobuf::io::ArrayInputStream in(bytes.data(), static_cast<int>(bytes.size()));
  bool end = false;
  chakra::GlobalMetadata head;
  if (!google::protobuf::util::ParseDelimitedFromZeroCopyStream(&head, &in, &end) ||
      head.version() != "0.0.4")
    throw std::runtime_error("no Chakra trace");
  std::vector<TraceNode> nodes;
  for (;;) {
    chakra::Node node;
    if (!google::protobuf::util::ParseDelimitedFromZeroCopyStream(&node, &in, &end)) break;
    if (node.id() != nodes.size()) throw std::runtime_error("numbers with gaps");
    nodes.push_back(node_of(node, rank, all));
  }
  if (!end) throw std::runtime_error("a broken node");
  return nodes;
}

}  // namespace orrery::sim::test
