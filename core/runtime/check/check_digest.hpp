// The check of collectives across processes. No rank can record another whose part it does not
// hold, so ranks exchange digests of their sequences and compare them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/runtime/check/check.hpp"

namespace orrery {

/// One sequence of calls that several ranks must agree on: those of a group on a lane, or (from, to
/// >= 0) the messages from one rank to another within it.
struct CollectiveDigest {
  Lane lane = Lane::comm;
  Group group;
  int from = -1, to = -1;
  std::int64_t calls = 0;
  std::uint64_t hash = 0;  ///< of kind, root, sizes and type of each call, in order
};

/// The sequences that a program takes part in.
std::vector<CollectiveDigest> digest_collectives(const Program& program);

/// Where the ranks' digests disagree: at most one finding per sequence. `of_rank[r]` are those of
/// rank r.
std::vector<Finding> compare_digests(const std::vector<std::vector<CollectiveDigest>>& of_rank);

/// Writes them as text, one line each, to send them between processes.
std::string to_text(const std::vector<CollectiveDigest>& digests);
std::vector<CollectiveDigest> digests_from_text(const std::string& text);

}  // namespace orrery
