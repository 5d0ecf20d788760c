#include "experiments/execute/execute_mpi.hpp"

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backends/cuda/nccl_communicator.hpp"
#include "backends/cuda/staged_communicator.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/runtime/check/check.hpp"
#include "core/runtime/check/check_digest.hpp"
#include "core/runtime/recording.hpp"
#include "core/terminal/activity.hpp"
#include "experiments/execute/open_device.hpp"
#include "experiments/execute/outcome_bytes.hpp"

namespace orrery {
namespace {

/// Threads for this rank's kernels: its share of the cores that it may use, if other ranks of its
/// server share them (mpirun may have bound each rank to its own cores).
int kernel_threads(MpiWorld& world) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  std::string mine(sizeof cores, '\0');
  std::memcpy(mine.data(), &cores, sizeof cores);
  const Placement placement = world.placement();
  const auto all = world.all_gather(mine);
  int sharing = 0;
  for (int r = 0; r < world.size(); ++r)
    if (placement.same_server(r, world.rank()) && all[at(r)] == mine) ++sharing;
  return std::max(1, available_cores() / sharing);
}

void check_with_others(MpiWorld& world, const Program& mine) {
  throw_findings(find_local_problems(mine));
  std::vector<std::vector<CollectiveDigest>> digests;
  for (const std::string& text : world.all_gather(to_text(digest_collectives(mine))))
    digests.push_back(digests_from_text(text));
  throw_findings(compare_digests(digests));
}

/// Compares what the ranks of this rank's machine need with its memory.
void require_memory(MpiWorld& world, const Program& mine, const ExecuteOptions& options) {
  const auto all = world.all_gather(std::to_string(host_bytes(mine, options)));
  const Placement placement = world.placement();
  std::int64_t bytes = 0;
  for (int r = 0; r < world.size(); ++r)
    if (placement.same_server(r, world.rank())) bytes += std::stoll(all[at(r)]);
  if (options.require_memory) options.require_memory(bytes);
}

/// This rank's GPU, if it needs one, and how many ranks share it: mpirun or srun may have shown
/// each process other GPUs.
std::optional<cuda::GpuChoice> gpu_of(MpiWorld& world, const ExecuteOptions& options) {
  const Placement placement = world.placement();
  int on_server = 0;
  for (int r = 0; r < world.size(); ++r)
    if (placement.same_server(r, world.rank())) ++on_server;
  auto gpu = gpu_of_rank(options, placement.place_of(world.rank()), on_server);
  if (!gpu) return gpu;
  const auto all = world.all_gather(gpu->bus_id);
  gpu->sharing = 0;
  for (int r = 0; r < world.size(); ++r) {
    if (!placement.same_server(r, world.rank()) || all[at(r)] != gpu->bus_id) continue;
    ++gpu->sharing;
    if (options.nccl && r != world.rank())
      throw ConfigError("backend",
                        fmt::format("nccl needs a GPU for each rank, but ranks {} and "
                                    "{} have the same one: use backend mpi or threads",
                                    std::min(r, world.rank()), std::max(r, world.rank())));
  }
  return gpu;
}

/// How the tensors of a device travel: by MPI itself if they are on the host.
std::unique_ptr<Communicator> communicator_for(RankDevice& device, MpiWorld& world,
                                               Communicator& mpi, const ExecuteOptions& options) {
  auto* gpu = dynamic_cast<cuda::CudaDevice*>(&device);
  if (gpu == nullptr) return nullptr;
  if (!options.nccl)
    return std::make_unique<cuda::StagedCommunicator>(mpi, world.size(), world.rank(), *gpu);
  cuda::NcclCommunicator::Options nccl;
  nccl.rank = world.rank();
  nccl.size = world.size();
  nccl.share = [&world](std::string& bytes) { world.share(bytes); };
  nccl.failed = [&world](const std::string& what) { world.fail(what); };
  return std::make_unique<cuda::NcclCommunicator>(*gpu, std::move(nccl));
}

}  // namespace

Outcome execute_on_mpi(MpiWorld& world, Communicator& communicator, const Body& body,
                       const ExecuteOptions& options, const Progress& progress) {
  body.require_runnable();
  std::optional<Activity> recording;
  recording.emplace("recording and checking what this rank does");
  const Program recorded =
      record_rank(body, world.rank(), epochs_to_record(body), options.capacities);
  check_with_others(world, recorded);
  recording.reset();
  require_memory(world, recorded, options);

  const auto gpu = gpu_of(world, options);
  prepare_kernels(options);
  const auto device = open_device(options, gpu);
  const auto own = communicator_for(*device, world, communicator, options);

  Outcome outcome;
  outcome.kernels = describe_kernels(options, gpu);
  const RankHooks hooks{[&](int) {
                          outcome.interrupted =
                              world.any(options.stop != nullptr && options.stop->load());
                          if (outcome.interrupted) world.expect_end();
                          return outcome.interrupted;
                        },
                        [&](const EpochReport& report, double seconds) {
                          outcome.epochs.push_back(report);
                          if (world.rank() == 0 && progress) progress(report, seconds);
                        }};
  RankOutcome mine = execute_rank(body, options, world.rank(), kernel_threads(world), *device,
                                  own ? *own : communicator, hooks);
  mine.summary = summary_of(mine, recorded, body, options.placement);
  if (world.rank() != 0) {
    world.gather(to_bytes(mine));
    outcome.ranks.push_back(std::move(mine));
    return outcome;
  }
  for (const std::string& bytes : world.gather(to_bytes(mine)))
    outcome.ranks.push_back(outcome_from_bytes(bytes));
  return outcome;
}

}  // namespace orrery
