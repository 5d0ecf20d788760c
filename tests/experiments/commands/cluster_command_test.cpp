// What `orrery cluster show` prints; tests/analysis/drawing_test.py has what it draws.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

struct Outcome {
  int exit_code;
  std::string text;
};

/// Runs the program and keeps both of its outputs.
Outcome orrery(const std::string& arguments) {
  FILE* pipe = popen((ORRERY_BINARY " " + arguments + " 2>&1").c_str(), "r");
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  return {WEXITSTATUS(pclose(pipe)), text};
}

std::string last_line(const std::string& text) {
  const auto end = text.find_last_not_of('\n');
  return text.substr(text.rfind('\n', end) + 1);
}

TEST(ClusterCommand, PrintsUnitsAndMatrices) {
  const Outcome shown = orrery("cluster show dgx-1");

  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_NE(shown.text.find("GB/s        0   1   2   3   4   5   6   7"), std::string::npos)
      << shown.text;
  EXPECT_NE(shown.text.find("0 s0/gpu0   -  20  20  40  40   6   6   6"), std::string::npos);
  EXPECT_NE(shown.text.find("host of a server: 40 cores, "), std::string::npos);
}

TEST(ClusterCommand, SaysWhichProfileIsMissing) {
  const std::string file = std::filesystem::temp_directory_path() / "cluster_without_profile.json";
  std::ifstream shipped(ORRERY_SOURCES "/configs/clusters/dgx-1.json");
  Json cluster = Json::parse(shipped);
  cluster["device_types"].begin().value()["profile"] = "v1000";
  std::ofstream(file) << cluster;

  const Outcome shown = orrery("cluster show " + file);

  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_NE(shown.text.find("note: nothing can be simulated on "), std::string::npos) << shown.text;
  EXPECT_NE(shown.text.find("v1000"), std::string::npos);
  EXPECT_EQ(orrery("cluster show dgx-1").text.find("note: "), std::string::npos);
  std::filesystem::remove(file);
}

TEST(ClusterCommand, PrintsOneObjectForMachines) {
  const Json json =
      Json::parse(last_line(orrery("cluster show a6000-4x4-nvlink --servers 2 --json").text));

  EXPECT_EQ(json["servers"], 2);
  EXPECT_EQ(json["devices"].size(), 8U);
  EXPECT_EQ(json["host_cores"], 16);
  EXPECT_EQ(json["host_memory_bytes_per_second"], 204.8e9);
  EXPECT_EQ(json["bytes_per_second"][0][1], 48e9);
  EXPECT_EQ(json["bytes_per_second"][0][7], 4e9);
  EXPECT_TRUE(json["bytes_per_second"][0][0].is_null());
}

TEST(ClusterCommand, SaysWhereItDrew) {
  const std::string path = ::testing::TempDir() + "drawn.svg";

  const Outcome shown = orrery("cluster show fat-tree --svg " + path);

  EXPECT_EQ(last_line(shown.text), "drawing: " + path + "\n");
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(ClusterCommand, CountsWrongUseAsSuch) {
  EXPECT_EQ(orrery("cluster show no-such-cluster").exit_code, 2);
  EXPECT_EQ(orrery("cluster show dgx-1 --servers 0").exit_code, 2);
  EXPECT_EQ(orrery("cluster show --help").exit_code, 0);
}

/// A script makes the drawing; its mistakes are reported like all others.
TEST(ClusterCommand, ADrawingThatCannotBeMadeIsToldInOneLine) {
  const std::string path = ::testing::TempDir() + "never_drawn.svg";
  const std::string python = ::testing::TempDir() + "python_that_dies";
  std::filesystem::remove(path);
  std::ofstream(python) << "#!/bin/sh\n[ \"$1\" = -c ] && exit 0\nkill -9 $$\n";
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  const auto told = [&](const std::string& environment, const std::string& file) {
    FILE* pipe = popen(
        (environment + " " ORRERY_BINARY " cluster show dgx-1 --svg " + file + " 2>&1 >/dev/null")
            .c_str(),
        "r");
    std::string text;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
    EXPECT_EQ(WEXITSTATUS(pclose(pipe)), 1);
    return text;
  };

  EXPECT_EQ(told("", "/no/such/folder/a.svg"),
            "orrery: error: /no/such/folder/a.svg: cannot be written: No such file or directory\n");
  EXPECT_EQ(told("", ::testing::TempDir()).find("orrery: error: "), 0U);
  EXPECT_EQ(told("ORRERY_PYTHON=/no/such/python", path),
            "orrery: error: python3 is missing. Please run: apt-get install "
            "--no-install-recommends python3\n");
  EXPECT_EQ(told("ORRERY_PYTHON=" + python, path),
            "orrery: error: analysis/cluster.py ended with signal 9\n");
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace orrery
