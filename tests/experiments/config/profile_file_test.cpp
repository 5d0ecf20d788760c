// Device profiles: those that ship, and how mistakes in one are told.
#include "experiments/config/profile_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

#include "core/base/error.hpp"
#include "experiments/config/cluster_file.hpp"
#include "experiments/config/validate_json.hpp"
#include "sim/price/host_seconds.hpp"
#include "sim/price/op_seconds.hpp"
#include "sim/price/price_point.hpp"
#include "tests/support/sample_ops.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

const std::string kFolder = ORRERY_SOURCES "/configs/";

Json file_of(const std::string& name) {
  std::ifstream in(kFolder + "devices/" + name + ".json");
  return parse_json({std::istreambuf_iterator<char>(in), {}}, name);
}

sim::DeviceProfile shipped(const std::string& name) {
  return load_profile(kFolder + "devices/" + name + ".json");
}

std::string refused_profile(const Json& file) {
  try {
    make_profile(file);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

/// The profiles of the folder, except those that `orrery calibrate --kernels cuda` may have left
/// there.
std::vector<std::string> derived_profiles() {
  std::vector<std::string> names = shipped_profiles();
  std::erase_if(names,
                [](const std::string& name) { return file_of(name)["origin"] == "measured"; });
  return names;
}

/// A device of each derived profile that a shipped cluster names.
std::map<std::string, Device> devices_of_clusters() {
  const auto derived = derived_profiles();
  std::map<std::string, Device> devices;
  for (const std::string& name : shipped_clusters())
    for (const Device& device : load_cluster(kFolder + "clusters/" + name + ".json", 1).devices)
      if (std::find(derived.begin(), derived.end(), device.profile) != derived.end())
        devices.emplace(device.profile, device);
  return devices;
}

TEST(ShippedProfiles, PriceEveryOperationOnEveryClusterThatShips) {
  const auto devices = devices_of_clusters();
  const auto small = testing::sample_ops(64, 16), large = testing::sample_ops(1 << 17, 64);
  EXPECT_GE(devices.size(), 8U);

  for (const auto& [name, device] : devices) {
    const sim::DeviceProfile profile = shipped(name);
    EXPECT_EQ(profile.name, name);
    for (std::size_t i = 0; i < small.size(); ++i) {
      const double few = sim::op_seconds(profile, small[i], 1),
                   many = sim::op_seconds(profile, large[i], 1);
      EXPECT_GT(few, 0) << name << " " << sim::price_keys()[i];
      EXPECT_GT(many, few) << name << " " << sim::price_keys()[i];
      EXPECT_LT(many, 1) << name << " " << sim::price_keys()[i];
    }
  }
}

TEST(ShippedProfiles, HaveTheLibraryOfTheirClustersAndAPlausibleHost) {
  for (const std::string& name : derived_profiles()) {
    const sim::DeviceProfile profile = shipped(name);
    const bool machine = name.starts_with("r5") || name.starts_with("xeon");

    EXPECT_EQ(profile.origin, "derived");
    EXPECT_TRUE(profile.libraries.contains(machine ? "mpi" : "nccl")) << name;
    EXPECT_GE(profile.communication_slowdown, 1) << name;
    EXPECT_LT(profile.communication_slowdown, 1.5) << name;
    for (const double seconds : {profile.issue_seconds, profile.handover_seconds,
                                 profile.sync_seconds, profile.roofline.launch_seconds}) {
      EXPECT_GT(seconds, 1e-7) << name;
      EXPECT_LT(seconds, 1e-4) << name;
    }
  }
}

TEST(ShippedProfiles, PriceEveryTaskOfAHostThatThereIs) {
  for (const std::string& name : derived_profiles())
    for (const char* kind : {"checkpoint", "write_rows", "serve", "sample", "sample_vertices",
                             "sample_relations", "sample_relation_vertices", "scan", "pairs"}) {
      const double few = sim::host_seconds(shipped(name), kind, 1, 1 << 10, 1),
                   many = sim::host_seconds(shipped(name), kind, 1 << 20, 1 << 29, 1);
      EXPECT_GT(few, 1e-7) << name << kind;
      EXPECT_GT(many, 100 * few) << name << kind;
      EXPECT_LT(many, 10) << name << kind;
    }
}

TEST(ShippedProfiles, HaveThePeaksOfTheirClusters) {
  for (const auto& [name, device] : devices_of_clusters()) {
    const sim::Roofline roofline = shipped(name).roofline;
    EXPECT_DOUBLE_EQ(roofline.flops_per_second, device.flops_per_second) << name;
    EXPECT_DOUBLE_EQ(roofline.bytes_per_second, device.memory_bytes_per_second) << name;
  }
}

TEST(ShippedProfiles, SayWhereEveryNumberIsFrom) {
  for (const std::string& name : derived_profiles()) {
    const std::function<void(const Json&, const std::string&)> visit =
        [&](const Json& value, const std::string& path) {
          if (value.is_object() && value.contains("value")) {
            EXPECT_GT(value["source"].get<std::string>().size(), 10U) << name << " " << path;
            return;
          }
          if (value.is_object())
            for (const auto& [key, member] : value.items()) visit(member, path + "." + key);
          else
            EXPECT_FALSE(value.is_number() && !path.ends_with(".flops") &&
                         !path.ends_with(".bytes"))
                << name << " " << path;
        };
    visit(file_of(name), "");
  }
}

/// With a source of both ends, and no operation faster at the lower one.
TEST(ShippedProfiles, HaveRangesOfAllTheirEfficiencies) {
  const auto ops = testing::sample_ops(1 << 17, 64);
  for (const std::string& name : derived_profiles()) {
    const std::string path = kFolder + "devices/" + name + ".json";
    const sim::DeviceProfile low = load_profile(path, Efficiencies::lowest), stated = shipped(name),
                             high = load_profile(path, Efficiencies::highest);
    const Json file = file_of(name);
    for (const auto& [kind, efficiency] : file["roofline"]["kinds"].items())
      for (const char* end : {"lowest", "highest"})
        EXPECT_GT(efficiency[end]["source"].get<std::string>().size(), 10U) << name << " " << kind;
    for (const Op& op : ops) {
      EXPECT_GT(sim::op_seconds(low, op, 1), sim::op_seconds(stated, op, 1)) << name;
      EXPECT_LT(sim::op_seconds(high, op, 1), sim::op_seconds(stated, op, 1)) << name;
    }
  }
}

TEST(ProfileFiles, HaveNoEndsOfRangesThatTheyDoNotTell) {
  const auto refused = [](const Json& file) {
    try {
      make_profile(file, Efficiencies::lowest);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  Json file = file_of("t4");
  EXPECT_EQ(refused(file), "accepted");
  file["roofline"]["kinds"]["gemm"].erase("lowest");
  EXPECT_NE(refused(file).find("roofline.kinds.gemm: has no \"lowest\", which "
                               "simulation.sensitivity needs"),
            std::string::npos)
      << refused(file);
  EXPECT_EQ(refused_profile(file), "accepted") << "if nobody asks";
  file.erase("roofline");
  EXPECT_NE(refused(file).find("simulation.sensitivity: the device profile \"t4\" has measured"),
            std::string::npos)
      << refused(file);

  file = file_of("t4");
  file["roofline"]["kinds"]["gemm"]["highest"]["bytes"] = 0.1;
  EXPECT_NE(refused_profile(file).find("roofline.kinds.gemm.highest.bytes: found 0.1"),
            std::string::npos)
      << refused_profile(file);
}

// MG-GCN 6.4: of 900 GB/s, 150 are taken, so that 5/6 are left.
TEST(ShippedProfiles, SlowTheV100DownByASixth) {
  EXPECT_NEAR(1 / shipped("v100-sxm2-32gb").communication_slowdown, 1 - 150.0 / 900, 1e-9);
}

TEST(ProfileFiles, AreWrittenAsTheyAreRead) {
  sim::DeviceProfile profile = shipped("r5-16");
  profile.origin = "measured";
  profile.scale["*"] = 1.5;
  profile.variation = 0.1;
  profile.turn_seconds = 3e-3;
  sim::PriceTable table{{{"m", {1, 2}}, {"threads", {1, 2}}}, {1, 2, 3, 4e-7}, 0.07};
  profile.tables.emplace("gemm", table);
  profile.host["sample"] = {1e-6, 2e-9, 3e9, 0.5};
  profile.host["checkpoint"] = {.launch_seconds = 1e-3};
  profile.libraries["mpi"].copy_bytes_per_second = sim::RateBySize({{1e4, 9e9}, {1e6, 5e9}});
  profile.libraries["mpi"].reduce_bytes_per_second = 4e9;
  const auto source_of = [](const std::string& path) { return "made up for " + path; };

  const Json file = profile_json(profile, "a test", source_of);
  const sim::DeviceProfile again = make_profile(parse_json(pretty(file), "text"));

  EXPECT_EQ(profile_json(again, "a test", source_of), file);
  EXPECT_EQ(file["libraries"]["mpi"]["message_seconds"]["source"],
            "made up for libraries.mpi.message_seconds");
  EXPECT_DOUBLE_EQ(again.tables.at("gemm").seconds[3], 4e-7);
  EXPECT_DOUBLE_EQ(again.tables.at("gemm").fit_error, 0.07);
  EXPECT_DOUBLE_EQ(again.variation, 0.1);
  EXPECT_DOUBLE_EQ(again.turn_seconds, 3e-3);
  EXPECT_EQ(again.host, profile.host);
  EXPECT_EQ(again.libraries, profile.libraries);
  EXPECT_EQ(file["libraries"]["mpi"]["copy_bytes_per_second"]["value"], 5e9);
  EXPECT_EQ(file["host"]["kinds"]["sample"]["seconds_per_item"]["source"],
            "made up for host.kinds.sample.seconds_per_item");
}

TEST(ProfileFiles, TellHowFarPricesAreOff) {
  const sim::PriceErrors errors{0.05, {{"spmm", 0.1}, {"gemm", 0.02}}, {{"mpi", 0.3}}};
  Json file = file_of("t4");
  file["errors"] = price_errors_json(errors, [](const std::string& path) { return "of " + path; });

  EXPECT_EQ(make_price_errors(file), errors);
  EXPECT_EQ(file["errors"]["kinds"]["spmm"]["source"], "of errors.kinds.spmm");
  EXPECT_EQ(refused_profile(file), "accepted");
  EXPECT_GT(load_price_errors("a6000").operations, 0);
  EXPECT_FALSE(load_price_errors("a6000").measured);

  // An error that was measured inside the machine says nothing of other servers, unlike an assumption.
  Json of_cores = file_of("r5-16");
  EXPECT_TRUE(make_price_errors(of_cores).moved_by_cores.empty());
  of_cores["origin"] = "measured";
  EXPECT_EQ(make_price_errors(of_cores).moved_by_cores, std::set<std::string>{"mpi"});
  EXPECT_TRUE(make_price_errors(of_cores).measured);

  // What a calibration beside much other work finds is loaded as well.
  file["errors"]["libraries"]["mpi"]["value"] = 19.79;
  EXPECT_EQ(refused_profile(file), "accepted");

  file["errors"]["kinds"]["spmn"] = file["errors"]["kinds"]["spmm"];
  EXPECT_THROW(make_price_errors(file), ConfigError);

  file["errors"]["kinds"].erase("spmn");

  // Of kinds that are left out: what tables are off by, a kind's mean over its variants.
  file["tables"] = {{"gemm", {{"fit_error", 0.1}}},
                    {"edge_softmax", {{"fit_error", 0.1}}},
                    {"edge_softmax/ends", {{"fit_error", 0.3}}}};
  EXPECT_NEAR(make_price_errors(file).by_kind.at("edge_softmax"), 0.2, 1e-12);
  EXPECT_EQ(make_price_errors(file).by_kind.at("gemm"), 0.02) << "measured in trainings";
  file.erase("errors");
  EXPECT_NEAR(make_price_errors(file).by_kind.at("gemm"), 0.1, 1e-12);
  file.erase("tables");
  EXPECT_FALSE(make_price_errors(file).known());
}

TEST(ProfileFiles, TellMistakesByTheirPath) {
  Json file = file_of("t4");
  file["roofline"]["kinds"]["gemmm"] = file["roofline"]["kinds"]["gemm"];
  EXPECT_NE(
      refused_profile(file).find("roofline.kinds.gemmm: unknown kind of operation. Did you mean"),
      std::string::npos)
      << refused_profile(file);

  file = file_of("t4");
  file["isue_seconds"] = file["issue_seconds"];
  EXPECT_NE(
      refused_profile(file).find("isue_seconds: unknown key. Did you mean \"issue_seconds\"?"),
      std::string::npos)
      << refused_profile(file);

  file = file_of("t4");
  file["communication_slowdown"]["value"] = 0.9;
  EXPECT_NE(
      refused_profile(file).find("communication_slowdown.value: found 0.9, expected a value >= 1"),
      std::string::npos)
      << refused_profile(file);

  file = file_of("t4");
  file["issue_seconds"].erase("source");
  EXPECT_NE(refused_profile(file).find("issue_seconds.source: is required"), std::string::npos)
      << refused_profile(file);

  file = file_of("t4");
  file["tables"]["gemm"] = {{"axes", {{{"name", "m"}, {"points", {1, 2}}}}},
                            {"seconds", {1.0}},
                            {"fit_error", 0},
                            {"source", "a test"}};
  EXPECT_NE(refused_profile(file).find("tables.gemm: found 1 seconds, expected 2"),
            std::string::npos)
      << refused_profile(file);

  file = file_of("t4");
  file["host"]["kinds"]["sample"] = {{"seconds_per_items", {{"value", 1}, {"source", "a test"}}}};
  EXPECT_NE(
      refused_profile(file).find("host.kinds.sample.seconds_per_items: unknown key. Did you mean "
                                 "\"seconds_per_item\"?"),
      std::string::npos)
      << refused_profile(file);

  file = file_of("t4");
  file["host"]["kinds"]["sample"] = {{"thread_efficiency", {{"value", 2}, {"source", "a test"}}}};
  EXPECT_NE(refused_profile(file).find("host.kinds.sample.thread_efficiency.value: found 2"),
            std::string::npos)
      << refused_profile(file);

  file = file_of("r5-16");
  Json& copies = file["libraries"]["mpi"]["copy_bytes_per_second"];
  copies = {{"value", 5e9},
            {"by_size", {{{"bytes", 1e6}, {"value", 9e9}}, {{"bytes", 1e4}, {"value", 5e9}}}},
            {"source", "a test"}};
  EXPECT_NE(refused_profile(file).find("libraries.mpi.copy_bytes_per_second.by_size: found 10000 "
                                       "bytes after 1000000: list messages from short to long"),
            std::string::npos)
      << refused_profile(file);
  copies["by_size"][1]["bytes"] = 4e6;
  EXPECT_EQ(refused_profile(file), "accepted");
  copies["by_size"][1]["value"] = 6e9;
  EXPECT_NE(refused_profile(file).find("by_size: found 6e+09 for the longest messages, but "
                                       "\"value\" is 5e+09"),
            std::string::npos)
      << refused_profile(file);

  file = file_of("t4");
  file["scale"]["spmn"] = {{"value", 2}, {"source", "a test"}};
  EXPECT_NE(refused_profile(file).find("Did you mean \"spmm\"?"), std::string::npos)
      << refused_profile(file);
}

TEST(ProfileFiles, OfUnknownNamesAreToldWithTheNearest) {
  try {
    load_profile("v100-sxm2-32g");
    FAIL() << "loaded";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("Did you mean \"v100-sxm2-32gb\"?"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace orrery
