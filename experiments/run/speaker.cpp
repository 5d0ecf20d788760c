#include "experiments/run/speaker.hpp"

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "experiments/config/version.hpp"
#include "experiments/execute/launch.hpp"
#include "experiments/results/results.hpp"

namespace orrery {
namespace {

nlohmann::ordered_json failure_json(const JobFailure& failure) {
  nlohmann::ordered_json json{{"schema_version", kSchemaVersion}, {"rank", nullptr},
                              {"told_by", failure.told_by},       {"operation", nullptr},
                              {"waited_for", failure.awaited},    {"message", failure.message}};
  if (failure.rank) json["rank"] = *failure.rank;
  if (!failure.operation.empty()) json["operation"] = failure.operation;
  return json;
}

}  // namespace

bool Speaker::may_speak(const JobFailure& failure) const {
  if (!folder_.empty()) return claim_failure(folder_, failure_json(failure));
  if (!failure.first_living) std::this_thread::sleep_for(std::chrono::seconds(3));
  if (asked_.empty()) return true;
  // One that failed itself leaves its failure, so that others see it, and speaks in any case.
  const bool first = leave_failure(asked_, failure_json(failure), process_age_seconds());
  return first || failure.rank == failure.told_by;
}

}  // namespace orrery
