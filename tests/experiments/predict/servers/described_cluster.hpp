// Four servers of two devices, whose file says what storage they have and what they cost.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "experiments/config/experiment.hpp"

namespace orrery::testing {

/// Writes a shipped cluster with these numbers, those above 0; returns its path.
inline std::string described_cluster(double server_rate, double shared_rate, double usd = 0) {
  using Json = nlohmann::ordered_json;
  Json file = Json::parse(std::ifstream(ORRERY_SOURCES "/configs/clusters/a6000-4x4-pcie.json"));
  const auto say = [](Json& where, const char* key, double value) {
    if (value > 0) where[key] = {{"value", value}, {"source", "made up"}};
  };
  if (server_rate > 0) {
    say(file["storage"], "bytes_per_second", server_rate);
    say(file["storage"], "shared_bytes_per_second", shared_rate);
  }
  say(file["server"], "usd_per_hour", usd);
  const auto path =
      std::filesystem::path(::testing::TempDir()) /
      (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
       std::to_string(server_rate) + std::to_string(shared_rate) + std::to_string(usd) + ".json");
  std::ofstream(path) << file;
  return path.string();
}

/// A small experiment on `servers` of them, simulated.
inline Experiment experiment_on(const std::string& cluster, int servers,
                                const std::vector<std::string>& changes = {}) {
  nlohmann::ordered_json file = nlohmann::ordered_json::parse(R"({
      "name": "small", "seed": 3,
      "dataset": {"generate": "communities", "vertices": 500, "edges": 3000, "features": 24},
      "model": {"type": "gcn", "layers": 2, "hidden": 16},
      "strategy": {"type": "full_graph"}, "train": {"epochs": 3, "eval_every": 0},
      "backend": "sim"})");
  file["cluster"] = {{"file", cluster}, {"servers", servers}, {"gpus_per_server", 2}};
  return parse_experiments(file.dump(), "small", changes).front();
}

}  // namespace orrery::testing
