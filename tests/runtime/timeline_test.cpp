#include "core/runtime/timeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "core/base/error.hpp"
#include "core/base/rng.hpp"
#include "core/runtime/ledger.hpp"

namespace orrery {
namespace {

Span span(Lane lane, Stage stage, double begin, double end, bool communicates = false,
          double external = 0) {
  return {lane,
          communicates ? "all_reduce" : "gemm",
          communicates,
          external,
          {stage, 0, 1},
          begin,
          end,
          0,
          0};
}

/// Epoch 0 from 1.0 to 10.0:
///   compute 1-3 and 4-6; internal 2-5 (1 s of it exposed, 3-4; 2 s hidden); external 6-7; nothing
///   7-8; gradients 8-10.
TEST(Breakdown, EveryInstantIsChargedOnce) {
  Timeline t;
  t.marks = {{{Stage::setup}, 0},
             {{Stage::forward, 0, 1}, 1.0},
             {{Stage::synchronise, 0}, 8.0},
             {{Stage::evaluate, 0}, 10.0}};
  t.spans = {span(Lane::compute, Stage::forward, 0.5, 3),
             span(Lane::compute, Stage::forward, 4, 6),
             span(Lane::comm, Stage::forward, 2, 5, true),
             span(Lane::comm, Stage::forward, 6, 7, true, 1),
             span(Lane::comm2, Stage::synchronise, 8, 12, true, 1),
             span(Lane::host, Stage::forward, 5, 8)};  // beside the devices: 7-8 is idle

  const Breakdown b = epoch_breakdown(t, 0);

  EXPECT_EQ(part_of(t.spans.back()).seconds, &Breakdown::other);
  EXPECT_DOUBLE_EQ(b.compute, 4);
  EXPECT_DOUBLE_EQ(b.internal, 1);
  EXPECT_DOUBLE_EQ(b.external, 1);
  EXPECT_DOUBLE_EQ(b.synchronise, 2);
  EXPECT_DOUBLE_EQ(b.other, 1);
  EXPECT_DOUBLE_EQ(b.hidden, 2);
  EXPECT_DOUBLE_EQ(b.total(), epoch_seconds(t.marks, 0));
  EXPECT_DOUBLE_EQ(b.compute_by_kind.at("gemm"), 4);
}

/// The epoch instant by instant: between two neighbouring ends of spans or windows nothing changes.
Breakdown by_instants(const Timeline& t, const std::vector<std::pair<double, double>>& windows) {
  std::vector<double> ends;
  for (const auto& [begin, end] : windows) ends.insert(ends.end(), {begin, end});
  for (const Span& s : t.spans) ends.insert(ends.end(), {s.begin, s.end});
  std::sort(ends.begin(), ends.end());
  Breakdown sum;
  for (std::size_t i = 1; i < ends.size(); ++i) {
    const double middle = (ends[i - 1] + ends[i]) / 2, seconds = ends[i] - ends[i - 1];
    const auto around = [middle](const auto& w) { return w.first < middle && middle < w.second; };
    if (std::none_of(windows.begin(), windows.end(), around)) continue;
    bool computes = false, synchronises = false, loads = false, samples = false;
    double share = -1;
    for (const Span& s : t.spans) {
      if (!around(std::pair{s.begin, s.end})) continue;
      if (s.communicates && s.phase.stage == Stage::synchronise) {
        synchronises = true;
      } else if (s.communicates) {
        share = std::max(share, s.external);
      } else if (s.lane == Lane::sampler) {
        samples = true;
      } else if (s.lane == Lane::copy) {
        loads = true;
      } else {
        computes = true;
        sum.compute_by_kind[std::string(s.kind)] += seconds;
      }
    }
    if (computes) {
      sum.compute += seconds;
      if (synchronises || share >= 0) sum.hidden += seconds;
    } else if (share >= 0) {
      sum.external += share * seconds;
      sum.internal += (1 - share) * seconds;
    } else {
      (synchronises ? sum.synchronise
       : loads      ? sum.load
       : samples    ? sum.sample
                    : sum.other) += seconds;
    }
  }
  return sum;
}

/// Spans of all lanes, over the edges of an epoch that the host enters twice, some of no length, in
/// any order.
TEST(Breakdown, OfRandomSpansIsThatOfTheirInstants) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::uint32_t drawn = 0;
    const auto draw = [&](std::uint64_t below) {
      return random_bits(seed, Purpose::permutation, 0, drawn++)[0] % below;
    };
    Timeline t;
    t.marks = {{{Stage::forward, 0, 1}, 3.0},
               {{Stage::forward, 1, 1}, 9.0},
               {{Stage::forward, 0, 2}, 12.0},
               {{Stage::evaluate, 0}, 20.0}};
    for (int i = 0; i < 40; ++i) {
      const Lane lane =
          std::array{Lane::compute, Lane::comm, Lane::comm2, Lane::copy, Lane::sampler}[draw(5)];
      const bool communicates = lane == Lane::comm || lane == Lane::comm2;
      const double begin = 0.5 * static_cast<double>(draw(46)),
                   share = 0.25 * static_cast<double>(draw(5));
      t.spans.push_back(span(lane, draw(4) == 0 ? Stage::synchronise : Stage::forward, begin,
                             begin + 0.5 * static_cast<double>(draw(6)), communicates,
                             communicates ? share : 0));
    }

    const Breakdown made = epoch_breakdown(t, 0);

    const Breakdown expected = by_instants(t, {{3, 9}, {12, 20}});
    for (const EpochPart& part : kEpochParts)
      EXPECT_NEAR(made.*part.seconds, expected.*part.seconds, 1e-12) << part.key << seed;
    EXPECT_NEAR(made.total(), 14, 1e-12);
    ASSERT_EQ(made.compute_by_kind.contains("gemm"), expected.compute_by_kind.contains("gemm"));
    if (!made.compute_by_kind.contains("gemm")) continue;
    EXPECT_NEAR(made.compute_by_kind.at("gemm"), expected.compute_by_kind.at("gemm"), 1e-12);
  }
}

/// An exchange of 8 seconds, a quarter of it between servers, of which computing hides 2 seconds;
/// another one beside it, for a second, is all between servers.
TEST(Breakdown, AnExchangeIsDividedByItsShareBetweenServers) {
  Timeline t;
  t.marks = {{{Stage::forward, 0, 1}, 0.0}, {{Stage::evaluate, 0}, 8.0}};
  t.spans = {span(Lane::comm, Stage::forward, 0, 8, true, 0.25),
             span(Lane::comm2, Stage::forward, 4, 5, true, 1),
             span(Lane::compute, Stage::forward, 6, 8)};

  const Breakdown b = epoch_breakdown(t, 0);

  EXPECT_DOUBLE_EQ(b.compute, 2);
  EXPECT_DOUBLE_EQ(b.external, 5 * 0.25 + 1);
  EXPECT_DOUBLE_EQ(b.internal, 5 * 0.75);
  EXPECT_DOUBLE_EQ(b.hidden, 2);
  EXPECT_DOUBLE_EQ(b.total(), epoch_seconds(t.marks, 0));
}

/// Two epochs on a first part, from 0 to 3 and 3 to 4, then on a second one, from 4 to 6 and 6 to 9.
TEST(Breakdown, EpochsThatTakeTurnsGetTheirOwnTime) {
  Timeline t;
  t.marks = {{{Stage::forward, 0, 1}, 0.0}, {{Stage::forward, 1, 1}, 3.0},
             {{Stage::load, 0}, 4.0},       {{Stage::forward, 0, 1}, 5.0},
             {{Stage::forward, 1, 1}, 6.0}, {{Stage::evaluate, 1}, 9.0}};
  t.spans = {span(Lane::compute, Stage::forward, 0, 2), span(Lane::compute, Stage::forward, 2.5, 4),
             span(Lane::copy, Stage::load, 4, 5), span(Lane::compute, Stage::forward, 5, 7),
             span(Lane::comm, Stage::forward, 5, 8, true)};

  const Breakdown first = epoch_breakdown(t, 0), second = epoch_breakdown(t, 1);

  EXPECT_DOUBLE_EQ(epoch_seconds(t.marks, 0), 5);
  EXPECT_DOUBLE_EQ(epoch_seconds(t.marks, 1), 4);
  EXPECT_DOUBLE_EQ(first.total(), 5);
  EXPECT_DOUBLE_EQ(second.total(), 4);
  EXPECT_DOUBLE_EQ(first.compute, 3.5);
  EXPECT_DOUBLE_EQ(first.compute_by_kind.at("gemm"), 3.5);
  EXPECT_DOUBLE_EQ(first.other, 0.5);
  EXPECT_DOUBLE_EQ(first.load, 1);
  EXPECT_DOUBLE_EQ(first.hidden, 1);
  EXPECT_DOUBLE_EQ(second.compute, 2);
  EXPECT_DOUBLE_EQ(second.internal, 1);
  EXPECT_DOUBLE_EQ(second.hidden, 1);
}

TEST(Breakdown, AnEpochThatIsNotThereIsZero) {
  Timeline t;
  t.marks = {{{Stage::forward, 0, 1}, 1.0}};

  EXPECT_EQ(epoch_seconds(t.marks, 0), 0) << "never ended";
  EXPECT_EQ(epoch_breakdown(t, 3).total(), 0);
}

TEST(Ledger, PeakIsTheLargestPrefixSumByClass) {
  Ledger ledger({});
  ledger.take(Space::device, 100, "activations/1");
  ledger.take(Space::device, 50, "halo/1");
  ledger.give(Space::device, 100, "activations/1");
  ledger.take(Space::device, 90, "activations/2");
  ledger.take(Space::host, 1000, "features");

  EXPECT_EQ(ledger.in_use(Space::device), 140);
  EXPECT_EQ(ledger.peak(Space::device), 150);
  EXPECT_EQ(ledger.peak_by_class(Space::device).at("activations"), 100);
  EXPECT_EQ(ledger.peak(Space::host), 1000);
}

TEST(Ledger, RefusesWhatDoesNotFitAndNamesIt) {
  Capacities capacities;
  capacities.bytes[0] = 100;
  Ledger ledger(capacities);
  ledger.take(Space::device, 60, "a");
  std::string refused;
  try {
    ledger.take(Space::device, 41, "big/one");
    FAIL();
  } catch (const OutOfMemory& error) {
    refused = error.what();
    EXPECT_EQ(error.tensor, "big/one");
    EXPECT_EQ(error.asked, 41);
    EXPECT_EQ(error.in_use, 60);
    EXPECT_EQ(error.capacity, 100);
  }
  EXPECT_STREQ(refused.c_str(),
               "out of memory: tensor 'big/one' needs 41 B, but 60 B of 100 B are in use");
  ledger.take(Space::device, 40, "fits");
  EXPECT_EQ(ledger.in_use(Space::device), 100);
}

TEST(Ledger, SaysOfWhatTheSystemRefusesNoCapacityThatNobodySet) {
  const OutOfMemory error("big/one", 41, 60, kUnlimited);

  EXPECT_STREQ(error.what(),
               "out of memory: tensor 'big/one' needs 41 B, but 60 B are in use and the system "
               "grants no more");
}

TEST(Ledger, HoldsEverySpaceToItsOwnCapacityAndNamesIt) {
  for (const Space space : {Space::pinned_host, Space::host, Space::server_host}) {
    Capacities capacities;
    capacities.bytes[at(space)] = 100;
    Ledger ledger(capacities);
    ledger.take(Space::device, 1000, "elsewhere");
    try {
      ledger.take(space, 101, "cache/rows");
      FAIL();
    } catch (const OutOfMemory& error) {
      EXPECT_EQ(error.space, name_of(space));
      EXPECT_NE(std::string(error.what()).find(std::string(name_of(space)) + " memory"),
                std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace orrery
