#include "sim/collectives/instance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "sim/collectives/planner.hpp"
#include "tests/sim/clusters.hpp"

namespace orrery::sim {
namespace {

/// A broadcast over servers of four, of NCCL, in chunks.
Expansion broadcast(const Cluster& cluster, int root, double bytes) {
  Library nccl;
  nccl.name = "nccl";
  CollectiveOptions options;
  options.algorithm = "hierarchical";
  options.channels = 1;
  CollectivePlanner planner(cluster, nccl, options);
  GroupPlaces places;
  places.device.resize(cluster.devices.size());
  std::iota(places.device.begin(), places.device.end(), 0);
  for (const int device : places.device) places.server.push_back(cluster.server_of(device));
  return planner.expand(
      {CollectiveKind::broadcast, static_cast<int>(places.device.size()), root, bytes, nullptr},
      places);
}

std::vector<int> sorted(std::span<const std::int32_t> numbers) {
  std::vector<int> list(numbers.begin(), numbers.end());
  std::sort(list.begin(), list.end());
  return list;
}

/// Whether message m waits for another one: for its end, or to pass it on while it arrives.
bool waits_for_end(const Expansion& made, int m, int other) {
  const Message& message = made.messages[at(m)];
  const auto first = made.waits.begin() + message.first_wait,
             end = first + message.waits - message.streamed_waits;
  return std::find(first, end, other) != end;
}
bool passes_on(const Expansion& made, int m, int other) {
  const Message& message = made.messages[at(m)];
  const auto end = made.waits.begin() + message.first_wait + message.waits,
             first = end - message.streamed_waits;
  return message.streams == other || std::find(first, end, other) != end;
}

TEST(MessageOrders, OfBroadcastsOfAllRootsAreOneObject) {
  const Cluster cluster = test::switched(3, 4);
  OrderInterner orders;

  const auto first = orders.intern(broadcast(cluster, 0, 1e7));

  for (int root = 1; root < 12; ++root)
    EXPECT_EQ(orders.intern(broadcast(cluster, root, 1e7)), first) << root;
  EXPECT_NE(orders.intern(broadcast(cluster, 0, 2e7)), first) << "longer messages";
  EXPECT_NE(orders.intern(broadcast(cluster, 0, 1e3)), first) << "nothing is passed on in chunks";
}

TEST(MessageOrders, SayOfEachMessageWhatItsExpansionSays) {
  const Cluster cluster = test::switched(3, 4);
  OrderInterner orders;
  for (const double bytes : {1e3, 1e7}) {
    const Expansion made = broadcast(cluster, 5, bytes);

    const auto order = orders.intern(made);

    ASSERT_EQ(order->size_of.size(), made.messages.size());
    for (int m = 0; m < static_cast<int>(made.messages.size()); ++m) {
      const Message& message = made.messages[at(m)];
      const MessageOrder::Size& size = order->sizes[at(order->size_of[at(m)])];
      EXPECT_EQ(size.bytes, message.bytes);
      EXPECT_EQ(size.chunk, message.chunk);
      EXPECT_EQ(size.reduced, message.reduced);
      EXPECT_EQ(order->waits[at(m)], message.waits + (message.streams >= 0 ? 1 : 0));
      std::vector<int> sources, streamers, followers;
      for (int other = 0; other < static_cast<int>(made.messages.size()); ++other) {
        if (passes_on(made, m, other)) sources.push_back(other);
        if (passes_on(made, other, m)) streamers.push_back(other);
        if (waits_for_end(made, other, m)) followers.push_back(other);
      }
      EXPECT_EQ(sorted(order->sources.of(m)), sources);
      EXPECT_EQ(sorted(order->streamers.of(m)), streamers);
      EXPECT_EQ(sorted(order->followers.of(m)), followers);
    }
  }
}

TEST(MessageOrders, OfManySizesHaveThemAll) {
  Expansion made{"", 1, {}, {}};
  for (int m = 0; m < 100; ++m) made.messages.push_back({m, m + 1, 1.0 + m % 40});
  OrderInterner orders;

  const auto order = orders.intern(made);

  for (std::size_t m = 0; m < made.messages.size(); ++m)
    EXPECT_EQ(order->sizes[at(order->size_of[m])].bytes, made.messages[m].bytes);
  EXPECT_EQ(orders.intern(made), order);
  made.messages[50].bytes = 77;
  EXPECT_NE(orders.intern(made), order);
}

}  // namespace
}  // namespace orrery::sim
