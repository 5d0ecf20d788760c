// A recorded program with prices. It has only what the replay needs, so that ranks of equal
// structure share one and it travels cheaply to another process.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/runtime/program.hpp"
#include "sim/collectives/expansion.hpp"
#include "sim/price/profile.hpp"

namespace orrery::sim {

/// A local operation on a device, or a task of a host, alone. The bytes of a task also pass the
/// host's memory. A task that reads files takes only the time of the storage.
struct Work {
  std::uint32_t kind = 0;  ///< in RankSchedule::kinds
  std::int32_t threads = 1;
  double seconds = 0, flops = 0, bytes = 0, file_bytes = 0;
  bool reads_files() const { return file_bytes > 0; }
  bool operator==(const Work&) const = default;
};

/// One rank's part in a collective.
struct Call {
  CollectiveKind what = CollectiveKind::broadcast;
  std::uint32_t kind = 0;          ///< in RankSchedule::kinds
  std::uint32_t group = 0;         ///< in GroupTable
  std::int32_t root = -1;          ///< send_recv: the index that it sends to, or −1
  std::int32_t from = -1;          ///< send_recv: the index that it receives from, or −1
  double bytes = 0;                ///< bytes of the operand; send_recv: sent
  double received = 0;             ///< bytes as the operation states them
  std::uint32_t parts = kNoParts;  ///< in RankSchedule::parts
  static constexpr std::uint32_t kNoParts = 0xffffffff;
  bool operator==(const Call&) const = default;
};

/// A rank's reading of rows of a store, or adding to them. Their owners' hosts serve it.
struct StoreAccess {
  std::uint32_t kind = 0;   ///< in RankSchedule::kinds
  std::uint32_t group = 0;  ///< in GroupTable: that of the store
  std::uint32_t rows = 0;   ///< in RankSchedule::parts: number of rows of each owner
  /// in RankSchedule::parts: seconds to serve them, alone, for each owner
  std::uint32_t seconds = 0;
  std::int32_t adds = 0;    ///< 1: push
  std::int32_t mapped = 0;  ///< 1: ranks of the owner's server read the rows without it
  double row_bytes = 0;
  double flops = 0, bytes = 0;  ///< both as the operation states them
  /// Bytes of a request for this many rows, with their numbers, and of its answer.
  double asked(double count) const { return count * (4 + (adds != 0 ? row_bytes : 0)); }
  double answered(double count) const { return adds != 0 ? 1 : count * row_bytes; }
  bool operator==(const StoreAccess&) const = default;
};

/// The submits of a host since the beginning.
struct Issued {
  std::uint32_t submits = 0;
  std::uint32_t calls = 0;  ///< those of the submits that are collectives or accesses to stores
  bool operator==(const Issued&) const = default;
};

/// An item of a lane; it takes the lane's next position.
struct LaneItem {
  enum class Type : std::uint8_t { work, task, call, access, wait, nothing };
  Type type = Type::nothing;
  Lane waits_for = Lane::compute;  ///< wait
  std::uint16_t phase = 0;         ///< in RankSchedule::phases
  std::uint32_t index = 0;         ///< number of the work, task, call, access; wait: position
  Issued issued;                   ///< by the rank's host, including this one
  bool operator==(const LaneItem&) const = default;
};

/// The host's work between submits.
struct HostItem {
  enum class Type : std::uint8_t { phase, sync, memory };
  Type type = Type::phase;
  Lane lane = Lane::compute;  ///< sync
  /// index in RankSchedule::phases or ::device_bytes; sync: position in the lane
  std::uint32_t index = 0;
  Issued issued;  ///< before it
  bool operator==(const HostItem&) const = default;
};

/// The part that ranks of equal structure share.
struct RankSchedule {
  std::array<std::vector<LaneItem>, kLanes> lanes;
  std::vector<HostItem> host;
  std::vector<Phase> phases;
  std::vector<Work> works;            ///< distinct ones, including tasks
  std::vector<Call> calls;            ///< distinct
  std::vector<StoreAccess> accesses;  ///< distinct
  std::vector<std::vector<double>> parts;
  std::vector<std::int64_t> device_bytes;  ///< bytes in use after each allocation and release
  std::vector<std::string_view> kinds;     ///< static names (kind_of)
  Issued issued;                           ///< in the end
  bool operator==(const RankSchedule&) const = default;
};

/// The groups that a rank's calls name, on their lanes.
struct GroupUse {
  Lane lane = Lane::comm;
  Group group;
  bool operator==(const GroupUse&) const = default;
};
using GroupTable = std::vector<GroupUse>;

struct PricedProgram {
  std::shared_ptr<const RankSchedule> schedule;
  GroupTable groups;
};

/// Calls visit(rank, rows, seconds to serve them) for every owner of rows of an access.
template <class Visit>
void for_each_owner(const RankSchedule& schedule, const StoreAccess& access,
                    const GroupTable& groups, const Visit& visit) {
  const Group& group = groups[access.group].group;
  for (int i = 0; i < group.size; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const double rows = schedule.parts[access.rows][index];
    if (rows > 0) visit(group.rank_of(i), rows, schedule.parts[access.seconds][index]);
  }
}

/// Prices a program on a device whose kernels run with this many threads. Host tasks have the
/// number of threads that they state. An owner serves a request by a host task "serve" of one
/// thread, with a row per item. Opening or closing a store is an all-reduce of a word.
///
/// Errors    Uncalibrated
PricedProgram price(const Program& program, const DeviceProfile& profile, int threads);

/// Makes equal schedules one object.
class ScheduleInterner {
 public:
  std::shared_ptr<const RankSchedule> intern(std::shared_ptr<const RankSchedule> schedule);

 private:
  std::vector<std::pair<std::uint64_t, std::shared_ptr<const RankSchedule>>> known_;
};

}  // namespace orrery::sim
