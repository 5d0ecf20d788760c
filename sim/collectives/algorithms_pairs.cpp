#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/index.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/message_list.hpp"

namespace orrery::sim {
namespace {

int window_of(const Task& task) {
  if (task.options.window > 0) return std::min(task.options.window, task.shape.ranks - 1);
  return task.shape.ranks <= kAllAtOnceRanks ? task.shape.ranks - 1 : kWindowBeyond;
}

std::string window_text(const Task& task) {
  const int window = window_of(task);
  if (window == task.shape.ranks - 1) return "pairwise, all at once";
  return fmt::format("pairwise, {} at a time", window);
}

/// In round k = 1, 2, ... i sends to i + k, with `window` messages under way. `send` adds the
/// message to j after the one it waits for, or -1, and returns its number; empty messages are left
/// out.
template <class Bytes, class Send>
void in_rounds(int ranks, int window, const Bytes& bytes, const Send& send) {
  std::vector<std::vector<int>> sent(static_cast<std::size_t>(ranks));
  const auto w = static_cast<std::size_t>(window);
  for (int k = 1; k < ranks; ++k)
    for (int i = 0; i < ranks; ++i) {
      const int j = (i + k) % ranks;
      if (bytes(i, j) <= 0) continue;
      auto& mine = sent[at(i)];
      const int after = mine.size() < w ? -1 : mine[mine.size() - w];
      mine.push_back(send(i, j, after));
    }
}

/// Data of i for j goes from i to j: no message waits for data.
Expansion exchange(const Task& task, int window, std::string name) {
  const int p = task.shape.ranks;
  const auto bytes = [&](int i, int j) { return task.part(i * p + j); };
  Expansion out{std::move(name), p * p, {}, {}};
  out.messages.reserve(static_cast<std::size_t>(p) * static_cast<std::size_t>(p - 1));
  in_rounds(p, window, bytes, [&](int i, int j, int after) {
    Message& m = out.messages.emplace_back(Message{i, j, bytes(i, j)});
    m.first_piece = i * p + j;
    m.first_wait = static_cast<std::int32_t>(out.waits.size());
    m.waits = after < 0 ? 0 : 1;
    if (after >= 0) out.waits.push_back(after);
    return static_cast<int>(out.messages.size()) - 1;
  });
  return out;
}

/// Each rank sends everybody their slice, to be added up.
void collect(MessageList& list, const Task& task, int window, const std::vector<double>& slices) {
  const auto bytes = [&](int, int j) { return slices[at(j)]; };
  in_rounds(task.shape.ranks, window, bytes, [&](int i, int j, int after) {
    return list.send(i, j, bytes(i, j), {j}, Arrival::adds, after);
  });
}

/// Each rank sends everybody its own slice.
void hand_out(MessageList& list, const Task& task, int window, const std::vector<double>& slices) {
  const auto bytes = [&](int i, int) { return slices[at(i)]; };
  in_rounds(task.shape.ranks, window, bytes, [&](int i, int j, int after) {
    return list.send(i, j, bytes(i, j), {i}, Arrival::replaces, after);
  });
}

/// Each rank collects one slice from everybody, adds it up and sends it out.
Expansion by_slices(const Task& task, const char* name, double chunk) {
  const int p = task.shape.ranks;
  const std::vector<double> slices(static_cast<std::size_t>(p), task.shape.bytes / p);
  MessageList list(p, p, chunk);
  list.reserve(2 * static_cast<std::size_t>(p) * static_cast<std::size_t>(p - 1));
  collect(list, task, p, slices);
  hand_out(list, task, p, slices);
  return list.take(name + chunks_text(chunk, slices.front()));
}

}  // namespace

Expansion direct(const Task& task) {
  if (task.shape.parts) return exchange(task, task.shape.ranks, "direct");
  MessageList list(task.shape.ranks, 1);
  list.send(0, 1, task.shape.bytes, {}, Arrival::replaces);
  return list.take("direct");
}

Expansion pairwise_all_to_all(const Task& task) {
  return exchange(task, window_of(task), window_text(task));
}

Expansion pairwise_all_gather(const Task& task) {
  MessageList list(task.shape.ranks, task.shape.ranks);
  hand_out(list, task, window_of(task), task.slices());
  return list.take(window_text(task));
}

Expansion pairwise_reduce_scatter(const Task& task) {
  MessageList list(task.shape.ranks, task.shape.ranks);
  collect(list, task, window_of(task), task.slices());
  return list.take(window_text(task));
}

/// Source    backends/comm_threads
/// Departs   slices are equal to the byte, and no barrier parts the two halves: a rank hands its
///           slice out when it has added it up
Expansion flat_all_reduce(const Task& task) { return by_slices(task, "flat", 0); }

/// Source    backends/comm_mpi/sum_slices.cpp, which hands out a piece while it collects the next
/// Departs   slices are equal to the byte
Expansion slices_all_reduce(const Task& task) {
  return by_slices(task, "slices", task.chunk(kSumPieceBytes));
}

}  // namespace orrery::sim
