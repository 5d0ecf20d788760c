#include "backends/cuda/cuda_device.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "backends/cuda/lane.hpp"
#include "core/base/error.hpp"
#include "core/base/units.hpp"

namespace orrery::cuda {
namespace {

/// Share of a GPU's memory for the arenas of its ranks: the rest is for the driver's context, the
/// libraries' workspaces and other users of the GPU.
constexpr double kArenaShare = 0.92;
/// Bytes of an arena beyond those that a rank counts: gaps between blocks, orders of rows for
/// products, pieces of sums.
std::int64_t beyond(std::int64_t bytes) { return bytes / 16 + (std::int64_t{64} << 20); }

constexpr double kMomentSeconds = 10;

OrreryDeviceInfo info_of(int index) {
  OrreryDeviceInfo info{};
  require(api().device_info(index, &info), "device_info");
  return info;
}

std::int64_t arena_for(const CudaDevice::Options& options) {
  const auto whole = static_cast<double>(info_of(options.gpu.index).memory_bytes);
  const auto share = static_cast<std::int64_t>(kArenaShare * whole / options.gpu.sharing);
  const std::int64_t asked = options.device_bytes;
  return asked >= share ? share : std::min(share, asked + beyond(asked));
}

Handle<OrreryDevice> open(const CudaDevice::Options& options, std::int64_t arena_bytes) {
  OrreryDevice* opened = nullptr;
  const int code = api().device_open(options.gpu.index, arena_bytes, &opened);
  if (code == kOrreryOutOfMemory)
    throw Error(
        fmt::format("{} does not have {} of free memory for each of {} rank{}: end other "
                    "programs there, or lower cluster.device_bytes",
                    info_of(options.gpu.index).name, human_bytes(static_cast<double>(arena_bytes)),
                    options.gpu.sharing, options.gpu.sharing == 1 ? "" : "s"));
  require(code, "device_open");
  return {opened, api().device_close};
}

/// 12040 -> "12.4".
std::string cuda_version(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

/// CUDA itself calls an absent driver one that is too old.
std::string why_no_gpu() {
  return std::filesystem::exists("/proc/driver/nvidia") ? api().last_error()
                                                        : "no NVIDIA driver is loaded";
}

}  // namespace

GpuChoice choose_gpu(int place, int ranks) {
  std::int32_t count = 0;
  const int code = api().device_count(&count);
  if (code != kOrreryOk || count == 0)
    throw Error(
        fmt::format("kernels: cuda needs a GPU, and there is none ({}); kernels: cpu runs "
                    "everywhere",
                    why_no_gpu()));
  GpuChoice choice{place % count, 1, ""};
  choice.sharing = (ranks - choice.index + count - 1) / count;
  choice.bus_id = info_of(choice.index).pci_bus_id;
  return choice;
}

std::string describe_gpu(int index) {
  const OrreryDeviceInfo info = info_of(index);
  return fmt::format("{}, driver {}, CUDA {}, cuBLAS {}, cuSPARSE {}", info.name,
                     cuda_version(info.driver_version), cuda_version(info.runtime_version),
                     info.cublas_version, info.cusparse_version);
}

CudaDevice::CudaDevice(Options options)
    : options_(std::move(options)),
      near_(cores_near(options_.gpu.bus_id)),
      arena_bytes_(arena_for(options_)),
      device_(open(options_, arena_bytes_)),
      service_(nullptr, api().stream_close) {
  OrreryStream* service = nullptr;
  require(api().stream_open(handle(), &service), "stream_open");
  service_.reset(service);
}

CudaDevice::~CudaDevice() = default;

std::unique_ptr<DeviceLane> CudaDevice::open_lane(Lane) {
  return std::make_unique<CudaLane>(*this);
}

void* CudaDevice::take(Space space, std::int64_t bytes) {
  void* block = nullptr;
  const auto& take = space == Space::device ? api().allocate : api().allocate_pinned;
  require(take(handle(), std::max<std::int64_t>(bytes, 1), &block), "allocate");
  return block;
}

void CudaDevice::give(Space space, void* block) noexcept {
  const auto& give = space == Space::device ? api().release : api().release_pinned;
  const int code = give(handle(), block);
  ORRERY_ASSERT(code == kOrreryOk || !"a block that was not taken here");
}

std::int64_t CudaDevice::capacity(Space space) const {
  return space == Space::device ? arena_bytes_ : kUnlimited;
}

void CudaDevice::set(Space space, void* at, unsigned char byte, std::int64_t bytes) {
  if (space != Space::device) {
    std::memset(at, byte, static_cast<std::size_t>(bytes));
    return;
  }
  const std::lock_guard lock(service_mutex_);
  require(api().fill_bytes(service_.get(), at, byte, bytes), "fill_bytes");
  require(api().stream_sync(service_.get()), "stream_sync");
}

void CudaDevice::read(Space space, void* to, const void* from, std::int64_t bytes) const {
  if (space != Space::device) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return;
  }
  const std::lock_guard lock(service_mutex_);
  require(api().copy_out(service_.get(), to, from, bytes), "copy_out");
  require(api().stream_sync(service_.get()), "stream_sync");
}

void CudaDevice::put_pattern(std::uint32_t id, Handle<OrreryPattern> pattern) {
  const std::lock_guard lock(patterns_mutex_);
  patterns_.insert_or_assign(id, OwnedPattern{std::move(pattern), ++patterns_so_far_});
}

void CudaDevice::drop_pattern(std::uint32_t id) noexcept {
  const std::lock_guard lock(patterns_mutex_);
  patterns_.erase(id);
}

CudaDevice::HeldPattern CudaDevice::pattern(std::uint32_t id) const {
  const std::lock_guard lock(patterns_mutex_);
  const auto found = patterns_.find(id);
  if (found == patterns_.end()) return {};
  return {found->second.pattern.get(), found->second.number};
}

std::shared_ptr<const CudaDevice::Moment> CudaDevice::recent_moment() {
  const std::lock_guard lock(service_mutex_);
  if (moment_ && now() - moment_->seconds < kMomentSeconds) return moment_;
  OrreryEvent* event = nullptr;
  require(api().event_open(handle(), &event), "event_open");
  Handle<OrreryEvent> owned(event, api().event_close);
  require(api().event_record(event, service_.get()), "event_record");
  require(api().event_sync(event), "event_sync");
  moment_ = std::make_shared<const Moment>(Moment{std::move(owned), now()});
  return moment_;
}

double CudaDevice::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - options_.origin).count();
}

}  // namespace orrery::cuda
