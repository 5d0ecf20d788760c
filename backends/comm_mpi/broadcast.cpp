#include <algorithm>
#include <vector>

#include "backends/comm_mpi/schedules.hpp"
#include "core/base/index.hpp"

namespace orrery::mpi {
namespace {

/// Measured on two cores (shared memory, 64 MiB): from 256 KiB on, chunks give 13 GB/s between two
/// ranks and 3 GB/s along four, and no more if they are larger; 64 KiB lose a quarter. Up to one
/// chunk nothing can overlap along a chain, and a tree is up to three times as fast.
constexpr std::int64_t kChunk = std::int64_t{512} << 10;
/// Chunks under way per link: with 4, a link stands still whenever its other end gets no core (half
/// the speed on busy cores); with 16 it does not.
constexpr int kWindow = 16;

/// This rank's place in a broadcast: ranks are counted from the root.
struct Place {
  const Group& group;
  int me, root;
  int place() const { return (me - root + group.size) % group.size; }
  int rank_at(int place) const { return group.rank_of((place + root) % group.size); }
};

/// Place v receives from v with its lowest bit cleared, and sends to v + each smaller power of two.
void along_a_tree(Batch& batch, const Place& at, std::span<const Part> parts) {
  const int v = at.place();
  int below = 1;
  while (below < at.group.size && (v & below) == 0) below *= 2;
  if (v != 0)
    for (const Part& p : parts) batch.receive(0, at.rank_at(v - below), p.data, p.bytes);
  batch.wait(0);
  for (int step = below / 2; step > 0; step /= 2)
    if (v + step < at.group.size)
      for (const Part& p : parts) batch.send(1, at.rank_at(v + step), p.data, p.bytes);
  batch.wait(1);
}

std::vector<Part> in_chunks(std::span<const Part> parts) {
  std::vector<Part> chunks;
  for (const Part& p : parts)
    for (std::int64_t done = 0; done < p.bytes; done += kChunk)
      chunks.push_back({static_cast<char*>(p.data) + done, std::min(kChunk, p.bytes - done)});
  return chunks;
}

/// Every place receives each chunk from the one before and passes it on while the next ones arrive.
void along_a_chain(Batch& batch, const Place& at, std::span<const Part> parts) {
  const std::vector<Part> chunks = in_chunks(parts);
  const int n = static_cast<int>(chunks.size()), v = at.place();
  const auto receive = [&](int k) {
    const Part& chunk = chunks[orrery::at(k)];
    if (v > 0) batch.receive(k, at.rank_at(v - 1), chunk.data, chunk.bytes);
  };
  for (int k = 0; k < std::min(n, kWindow); ++k) receive(k);
  for (int k = 0; k < n; ++k) {
    batch.wait(k);  // chunk k has arrived, and chunk k − window has been passed on
    const Part& chunk = chunks[orrery::at(k)];
    if (v + 1 < at.group.size) batch.send(k + kWindow, at.rank_at(v + 1), chunk.data, chunk.bytes);
    if (k + kWindow < n) receive(k + kWindow);
  }
  batch.wait(n + kWindow);
}

}  // namespace

void broadcast(Batch& batch, const Group& group, int me, int root, std::span<const Part> parts) {
  if (group.size == 1) return;
  std::int64_t total = 0;
  for (const Part& p : parts) total += p.bytes;
  const Place at{group, me, root};
  if (total <= kChunk)
    along_a_tree(batch, at, parts);
  else
    along_a_chain(batch, at, parts);
}

}  // namespace orrery::mpi
