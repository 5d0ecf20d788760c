// What `orrery cluster show` prints and draws.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>

#include "core/base/index.hpp"
#include "experiments/commands/cluster_svg.hpp"
#include "experiments/config/cluster_file.hpp"

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
}

TEST(ClusterCommand, PrintsOneObjectForMachines) {
  const Json json =
      Json::parse(last_line(orrery("cluster show a6000-4x4-nvlink --servers 2 --json").text));

  EXPECT_EQ(json["servers"], 2);
  EXPECT_EQ(json["devices"].size(), 8U);
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

struct Box {
  double x, y, width, height;
};

/// Boxes of nodes in a drawing: those of their size.
std::vector<Box> node_boxes(const std::string& svg) {
  const std::regex form("<rect x=\"([-0-9.]+)\" y=\"([-0-9.]+)\" width=\"76.0\" height=\"34.0\"");
  std::vector<Box> boxes;
  for (std::sregex_iterator at(svg.begin(), svg.end(), form), end; at != end; ++at)
    boxes.push_back({std::stod((*at)[1]), std::stod((*at)[2]), 76, 34});
  return boxes;
}

TEST(ClusterDrawing, LetsNoTwoNodesOverlap) {
  for (const std::string& name : shipped_clusters()) {
    const auto boxes = node_boxes(draw_cluster(load_cluster(name)));

    EXPECT_GE(boxes.size(), 2U) << name;
    for (std::size_t i = 0; i < boxes.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_TRUE(std::abs(boxes[i].x - boxes[j].x) >= 76 ||
                    std::abs(boxes[i].y - boxes[j].y) >= 34)
            << name;
  }
}

TEST(ClusterDrawing, ShowsEveryDeviceOfASmallClusterAndEveryTypeOfLink) {
  const Cluster cluster = load_cluster("a6000-4x4-nvlink");

  const std::string svg = draw_cluster(cluster);

  EXPECT_EQ(node_boxes(svg).size(), cluster.nodes.size());
  for (const ClusterLink& link : cluster.links)
    EXPECT_NE(svg.find(">" + link.type + ": "), std::string::npos) << link.type;
}

}  // namespace
}  // namespace orrery
