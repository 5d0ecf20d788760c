#include "core/strategy/vertex_cut_parts.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {
namespace {

constexpr std::int32_t kNoPart = -1;
constexpr Vertex kAbsent = -1;

/// The part of every entry of A, by the fragments and, on the diagonal, by the owners.
std::vector<std::int32_t> parts_of_entries(const Csr& a, const Partition& partition) {
  std::vector<std::int32_t> part_of(a.columns.size(), kNoPart);
  const auto entry = [&](Vertex row, Vertex column) {
    const auto columns = a.row(row);
    const auto found = std::lower_bound(columns.begin(), columns.end(), column);
    ORRERY_ASSERT(found != columns.end() && *found == column);
    return at(a.offsets[at(row)] + (found - columns.begin()));
  };
  for (std::int32_t part = 0; part < partition.parts; ++part)
    for (const auto& [source, destination] : (*partition.fragments)[at(part)]) {
      if (source == destination) continue;  // the model says whether there are loops
      std::int32_t& there = part_of[entry(destination, source)];
      // Of two parts that have the edge, either takes it as often as the other.
      if (there == kNoPart || (std::int64_t{source} + destination) % 2 != 0) there = part;
    }
  for (std::int64_t v = 0; v < a.rows; ++v) {
    const auto columns = a.row(v);
    if (std::binary_search(columns.begin(), columns.end(), static_cast<Vertex>(v)))
      part_of[entry(static_cast<Vertex>(v), static_cast<Vertex>(v))] = partition.owner[at(v)];
  }
  ORRERY_ASSERT(std::find(part_of.begin(), part_of.end(), kNoPart) == part_of.end());
  return part_of;
}

}  // namespace

CutBlocks transpose(const CutBlocks& blocks) {
  return {transpose(blocks.own), transpose(blocks.mirrors_from_own),
          transpose(blocks.own_from_mirrors), transpose(blocks.mirrors)};
}

DeviceBlocks::DeviceBlocks(Runtime& rt, const CutBlocks& blocks, int column_tiles,
                           const std::string& name)
    : own(rt, blocks.own, column_tiles, "own block" + name),
      own_from_mirrors(rt, blocks.own_from_mirrors, column_tiles, "block from mirrors" + name),
      mirrors_from_own(rt, blocks.mirrors_from_own, column_tiles, "block to mirrors" + name),
      mirrors(rt, blocks.mirrors, column_tiles, "block of mirrors" + name) {}

VertexCutPart magnified(const VertexCutPart& part, std::int64_t times) {
  return {magnified(part.mirrors, times),
          magnified(part.mirrored, times),
          IndexList::counted(times * part.sent()),
          {magnified(part.blocks.own, times), magnified(part.blocks.own_from_mirrors, times),
           magnified(part.blocks.mirrors_from_own, times), magnified(part.blocks.mirrors, times)},
          IndexList::counted(times * part.received())};
}

VertexCutParts::VertexCutParts(SparseMatrix a, const Partition& partition)
    : a_(std::move(a)),
      owner_(partition.owner),
      part_of_entry_(parts_of_entries(a_.csr(), partition)),
      holders_(a_.rows(), partition.parts) {
  for (auto& own : partition.members())
    own_.push_back(std::make_shared<const std::vector<Vertex>>(std::move(own)));
  const Csr& pattern = a_.csr();
  for (std::int64_t v = 0; v < pattern.rows; ++v) {
    holders_.add(static_cast<Vertex>(v), owner_[at(v)]);
    for (std::int64_t e = pattern.offsets[at(v)]; e < pattern.offsets[at(v + 1)]; ++e) {
      holders_.add(static_cast<Vertex>(v), part_of_entry_[at(e)]);
      holders_.add(pattern.columns[at(e)], part_of_entry_[at(e)]);
    }
  }
}

double VertexCutParts::replication_factor() const {
  return static_cast<double>(holders_.total()) /
         static_cast<double>(std::max<std::int64_t>(a_.rows(), 1));
}

VertexCutPart VertexCutParts::part(int part) const {
  VertexCutPart made;
  std::vector<Vertex> local(owner_.size(), kAbsent), mirrors, send_rows;
  std::vector<std::int64_t> of_owner(at(parts())), to_holder(at(parts()));
  const std::vector<Vertex>& own = *own_[at(part)];
  for (std::size_t i = 0; i < own.size(); ++i) local[at(own[i])] = static_cast<Vertex>(i);
  for (int other = 0; other < parts(); ++other) {
    if (other == part) continue;
    for (const Vertex v : *own_[at(other)])
      if (holders_.has(v, part)) {
        local[at(v)] = static_cast<Vertex>(mirrors.size());
        mirrors.push_back(v);
        ++of_owner[at(other)];
      }
    for (std::size_t i = 0; i < own.size(); ++i)
      if (holders_.has(own[i], other)) {
        send_rows.push_back(static_cast<Vertex>(i));
        ++to_holder[at(other)];
      }
  }

  auto alone = std::make_shared<std::vector<float>>();
  const auto entries_of = [&](const std::vector<Vertex>& rows) {
    std::array<RowBuilder, 2> blocks{RowBuilder(std::ssize(rows), std::ssize(own)),
                                     RowBuilder(std::ssize(rows), std::ssize(mirrors))};
    const Csr& pattern = a_.csr();
    for (const Vertex v : rows) {
      const auto columns = pattern.row(v);
      const auto values = a_.row_values(v);
      double whole = 0, here = 0;
      for (std::size_t e = 0; e < columns.size(); ++e) {
        whole += values[e];
        if (part_of_entry_[at(pattern.offsets[at(v)]) + e] != part) continue;
        const bool mine = owner_[at(columns[e])] == part;
        blocks[mine ? 0 : 1].add(local[at(columns[e])], values[e]);
        here += values[e];
      }
      alone->push_back(here == 0 ? 1.0F : static_cast<float>(whole / here));
      for (RowBuilder& block : blocks) block.end_row();
    }
    return std::pair(blocks[0].finish(), blocks[1].finish());
  };
  std::tie(made.blocks.own, made.blocks.own_from_mirrors) = entries_of(own);
  std::tie(made.blocks.mirrors_from_own, made.blocks.mirrors) = entries_of(mirrors);
  made.mirrors = row_counts(std::move(of_owner));
  made.mirrored = row_counts(std::move(to_holder));
  made.send_rows = IndexList(std::make_shared<const std::vector<Vertex>>(std::move(send_rows)));
  made.mirror_vertices = IndexList(std::make_shared<const std::vector<Vertex>>(std::move(mirrors)));
  made.alone = std::move(alone);
  return made;
}

}  // namespace orrery
