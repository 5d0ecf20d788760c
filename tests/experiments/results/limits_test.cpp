#include "experiments/results/limits.hpp"

#include <gtest/gtest.h>

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

Json parts(double compute, double internal, double external, double synchronise, double other) {
  return {{"compute", compute},   {"internal", internal},
          {"external", external}, {"synchronise", synchronise},
          {"sample", 0},          {"load", 0},
          {"other", other},       {"hidden", 9}};
}

Json result_with(const Json& breakdown) {
  return {{"breakdown", breakdown},
          {"compute_by_kind", {{"gemm", 1.0}, {"spmm", 3.0}}},
          {"peak_bytes", {1000, 1900}}};
}

std::string sentence(const Json& limit) { return limit["sentence"]; }

TEST(LimitedBy, ComputationNamedByItsCostliestOperation) {
  const Json limit = limited_by(result_with(parts(8, 2, 0, 0, 0)));

  EXPECT_EQ(limit["part"], "compute");
  EXPECT_DOUBLE_EQ(limit["share"], 0.8);
  EXPECT_EQ(sentence(limit), "computation, 80 % of the epoch; spmm is 75 % of it");
}

TEST(LimitedBy, TheSumOfCommunicationsWhereNoneAloneIsLargest) {
  const Json limit = limited_by(result_with(parts(4, 3, 0, 3, 0)));

  EXPECT_EQ(limit["part"], "communication");
  EXPECT_DOUBLE_EQ(limit["share"], 0.6);
  EXPECT_EQ(sentence(limit),
            "exposed communication, 60 % of the epoch (inside servers 30 %, averaging gradients "
            "30 %)");
}

TEST(LimitedBy, SaysThatOtherBatchesMayNotFit) {
  Json result = result_with(parts(8, 2, 0, 0, 0));
  result["device_bytes"] = 2000;
  result["peak_bytes_bound"] = 2000;
  EXPECT_EQ(sentence(limited_by(result)).find("other batches"), std::string::npos);

  result["peak_bytes_bound"] = 2048;

  EXPECT_NE(
      sentence(limited_by(result))
          .find("memory is 95 % full; other batches may need up to 2.00 KiB, which does not fit"),
      std::string::npos)
      << limited_by(result);
}

TEST(LimitedBy, CommunicationWithItsBusiestLink) {
  Json result = result_with(parts(1, 0, 9, 0, 0));
  result["links"] = {{{"name", "a > b"}, {"utilisation", 0.2}},
                     {{"name", "c > d"}, {"utilisation", 0.97}}};

  EXPECT_NE(sentence(limited_by(result)).find("busiest link c > d at 97 %"), std::string::npos);
  EXPECT_EQ(sentence(limited_by(result)).find("more alike"), std::string::npos);
  result["links"].push_back({{"name", "e > f"}, {"utilisation", 0.965}});
  EXPECT_NE(sentence(limited_by(result)).find("c > d at 97 %, 1 more alike"), std::string::npos);
}

TEST(LimitedBy, LatenciesWhereNoLinkIsBusy) {
  Json result = result_with(parts(1, 0, 9, 0, 0));
  result["links"] = {{{"name", "a > b"}, {"utilisation", 0.19}}};
  Json little = result_with(parts(5, 0, 6, 0, 4));  // 40 % of the epoch, and a link half of that
  little["links"] = result["links"];
  EXPECT_EQ(sentence(limited_by(little)).find("latencies"), std::string::npos);
  result["links"] = {{{"name", "a > b"}, {"utilisation", 0.01}}};

  EXPECT_NE(sentence(limited_by(result)).find("latencies and waiting for other ranks"),
            std::string::npos);
}

/// Under this key a real run has the accuracy of the links that it predicts.
TEST(LimitedBy, CommunicationOfARunThatPredictsLinks) {
  Json result = result_with(parts(1, 0, 9, 0, 0));
  result["links"] = {{"validation", {{"auc", 0.9}}}, {"test", nullptr}};

  EXPECT_EQ(sentence(limited_by(result)),
            "exposed communication, 90 % of the epoch (between servers 90 %)");
  result["links"] = nullptr;
  EXPECT_EQ(limited_by(result)["part"], "communication");
}

TEST(LimitedBy, WaitingWhereRanksNeitherComputeNorReceive) {
  EXPECT_EQ(limited_by(result_with(parts(3, 0, 0, 0, 7)))["part"], "other");
}

TEST(LimitedBy, MentionsUnequalRanksAndFullMemory) {
  Json result = result_with(parts(8, 2, 0, 0, 0));
  result["breakdown_of_rank"] = {parts(1, 0, 0, 0, 0), parts(3, 0, 0, 0, 0)};
  result["device_bytes"] = 2000;

  EXPECT_NE(sentence(limited_by(result)).find("1.50 times the mean"), std::string::npos);
  EXPECT_NE(sentence(limited_by(result)).find("memory is 95 % full"), std::string::npos);
}

TEST(LimitedBy, MemoryWhereItRanOut) {
  Json result = result_with(nullptr);
  result["out_of_memory"] = {{"tensor", "features"}};

  EXPECT_EQ(limited_by(result)["part"], "memory");
  EXPECT_EQ(sentence(limited_by(result)), "device memory: no room for features");
  result["out_of_memory"]["space"] = "pinned_host";
  EXPECT_EQ(sentence(limited_by(result)), "pinned_host memory: no room for features");
}

TEST(LimitedBy, NothingWhereThereIsNoBreakdown) {
  EXPECT_TRUE(limited_by(result_with(nullptr)).is_null());
}

}  // namespace
}  // namespace orrery
