#include "experiments/run/agreement.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/base/error.hpp"
#include "core/terminal/activity.hpp"
#include "experiments/config/version.hpp"
#include "experiments/results/differences.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Places of files: each machine may have its own. What is in those of data is compared by require_same_data().
constexpr const char* kPlaces[] = {
    "/dataset/path",           "/dataset/parts",       "/dataset/edge_list/files",
    "/dataset/features/files", "/dataset/degree_file", "/partition/file",
    "/simulation/profile",     "/cluster/file",        "/simulate_on",
    "/train/weights",          "/inference/weights"};

Json without_places(Json settings) {
  for (const char* place : kPlaces) {
    const Json::json_pointer at(place);
    if (settings.contains(at)) settings[at.parent_pointer()].erase(at.back());
  }
  return settings;
}

/// Errors    ConfigError: the first key in which the combinations of a rank are not those of rank 0
void require_same(const Json& leading, const Json& other, std::size_t rank) {
  constexpr const char* kAdvice = "all processes need the same experiment file and options";
  if (other.size() != leading.size())
    throw ConfigError("sweep", fmt::format("{} combinations on rank {}, {} on rank 0: {}",
                                           other.size(), rank, leading.size(), kAdvice));
  for (std::size_t i = 0; i < leading.size(); ++i)
    if (const auto apart = differences(leading[i], other[i]); !apart.empty())
      throw ConfigError(apart.front().key,
                        fmt::format("{} on rank {}, {} on rank 0: {}", apart.front().now, rank,
                                    apart.front().kept, kAdvice));
}

}  // namespace

void require_same_settings(const Job& job, const std::vector<Experiment>& experiments) {
  if (job.world == nullptr) return;
  Json settings = Json::array();
  for (const Experiment& e : experiments) settings.push_back(without_places(e.resolved));
  const auto all = job.world->gather(Json{{"version", kVersion}, {"settings", settings}}.dump());
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    const Json other = Json::parse(all[rank]);
    if (other["version"] != kVersion)
      throw Error(
          fmt::format("rank {} is of orrery {}, rank 0 of {}: install one version on all machines",
                      rank, other["version"].get<std::string>(), kVersion));
    require_same(settings, other["settings"], rank);
  }
}

void require_same_data(const Job& job, const std::string& fingerprint) {
  if (job.world == nullptr) return;
  const auto all = job.world->gather(fingerprint);
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != fingerprint)
      throw Error(fmt::format(
          "the data set of rank {} is not that of rank 0 ({} and {}): put the same files on all "
          "machines",
          rank, all[rank], fingerprint));
}

void require_shared_folder(const Job& job, const fs::path& folder) {
  if (job.world == nullptr) return;
  constexpr auto kPause = std::chrono::milliseconds(200);
  constexpr auto kPatience =
      std::chrono::seconds(60);  // what NFS remembers of a name that was not there
  const Activity waiting(fmt::format("waiting until this machine sees {}", folder.string()));
  const auto begin = std::chrono::steady_clock::now();
  std::error_code error;
  while (!fs::is_directory(folder, error)) {
    if (std::chrono::steady_clock::now() - begin > kPatience)
      throw Error(
          fmt::format("{}: is not seen on this machine: every rank writes there, so choose a "
                      "folder of a shared file "
                      "system as --out",
                      folder.string()));
    std::this_thread::sleep_for(kPause);
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw Error(fmt::format("{}: this machine may not write there, but every rank writes",
                            folder.string()));
}

}  // namespace orrery
