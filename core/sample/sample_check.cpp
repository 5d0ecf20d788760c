#include "core/sample/sample_check.hpp"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <tuple>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {
namespace {

constexpr double kExpected = 5;  // for a count, so that its statistics hold
// largest number of neighbours of a row whose pairs are counted
constexpr std::int64_t kMostOfPairs = 64;

/// Two-sided: samples that are too even are wrong, too.
double two_sided(double lower, double upper) { return std::min(1.0, 2 * std::min(lower, upper)); }

/// For a value that grows in steps, such as counts: anything up to the next step counts as at most
/// as small. Otherwise equal counts, which two often are, would seem too even.
double p_of_chi_square(double value, double step, double degrees) {
  return two_sided(boost::math::gamma_p(degrees / 2, (value + step) / 2),
                   boost::math::gamma_q(degrees / 2, value / 2));
}

/// For `count` successes in n trials with probability p.
double p_of_binomial(std::int64_t count, std::int64_t n, double p) {
  const auto k = static_cast<double>(count), trials = static_cast<double>(n);
  const double at_most = count == n ? 1 : boost::math::ibetac(k + 1, trials - k, p);
  const double at_least = count == 0 ? 1 : boost::math::ibeta(k, trials - k + 1, p);
  return two_sided(at_most, at_least);
}

void note(Unlikely& seen, double p, Vertex row) {
  ++seen.tested;
  if (p >= seen.least) return;
  seen.least = p;
  seen.row = row;
}

void note(SampleCheck::Wrong& wrong, std::int64_t place) {
  if (wrong.count++ == 0 || place < wrong.first) wrong.first = place;
}

/// How often each neighbour of one row, and each pair of them, was drawn.
class RowCounts {
 public:
  RowCounts(Vertex row, std::int64_t degree, const CheckedRule& rule)
      : row_(row), degree_(degree), rule_(rule), counts_(at(degree)) {
    if (!rule.replacement && degree <= kMostOfPairs) pairs_.resize(at(degree * degree));
  }

  /// The neighbours of one draw, by their places in the row, ascending.
  void add(std::span<const std::int64_t> places) {
    ++draws_;
    for (std::size_t i = 0; i < places.size(); ++i) {
      ++counts_[at(places[i])];
      if (pairs_.empty()) continue;
      for (std::size_t j = i + 1; j < places.size(); ++j)
        ++pairs_[at(places[i] * degree_ + places[j])];
    }
  }

  void test(SampleCheck& check) const {
    const auto n = static_cast<double>(draws_), d = static_cast<double>(degree_);
    const double k = rule_.fanout;
    const double mean = n * k / d;
    // Without replacement a neighbour is left out n − mean times, which must be as many.
    const double least = rule_.replacement ? mean : std::min(mean, n - mean);
    if (degree_ < 2 || least < kExpected) return;
    double squares = 0;
    for (const std::int64_t count : counts_) {
      const double apart = static_cast<double>(count) - mean;
      squares += apart * apart / mean;
    }
    const double spread = rule_.replacement ? 1 : (d - 1) / (d - k);
    // The counts have one sum, so their squares sum to numbers two apart.
    note(check.each, p_of_chi_square(squares * spread, 2 * spread / mean, d - 1), row_);

    const double of_pair = k * (k - 1) / (d * (d - 1));
    if (pairs_.empty() || n * of_pair < kExpected) return;
    for (std::int64_t i = 0; i < degree_; ++i)
      for (std::int64_t j = i + 1; j < degree_; ++j)
        note(check.pairs, p_of_binomial(pairs_[at(i * degree_ + j)], draws_, of_pair), row_);
  }

 private:
  Vertex row_;
  std::int64_t degree_, draws_ = 0;
  CheckedRule rule_;
  std::vector<std::int64_t> counts_, pairs_;
};

}  // namespace

double Unlikely::p() const {
  return tested == 0 ? 1 : std::min(1.0, least * static_cast<double>(tested));
}

SampleCheck check_samples(const Csr& graph, const DrawnNeighbours& drawn, const CheckedRule& rule) {
  const auto edges = std::ssize(drawn.draw);
  ORRERY_ASSERT(std::ssize(drawn.row) == edges && std::ssize(drawn.neighbour) == edges);
  SampleCheck check;
  std::vector<std::int64_t> order;  // places in the input of edges that exist, to be sorted
  for (std::int64_t i = 0; i < edges; ++i) {
    const std::int64_t v = drawn.row[at(i)], u = drawn.neighbour[at(i)];
    const bool is_there = v >= 0 && v < graph.rows && u >= 0 && u < graph.cols &&
                          std::ranges::binary_search(graph.row(v), static_cast<Vertex>(u));
    if (is_there)
      order.push_back(i);
    else
      note(check.absent, i);
  }
  const auto same = [&](const auto& of, std::int64_t a, std::int64_t b) {
    return of[at(a)] == of[at(b)];
  };
  std::ranges::sort(order, [&](std::int64_t a, std::int64_t b) {
    return std::tuple(drawn.row[at(a)], drawn.draw[at(a)], drawn.neighbour[at(a)], a) <
           std::tuple(drawn.row[at(b)], drawn.draw[at(b)], drawn.neighbour[at(b)], b);
  });

  bool could_be_biased = false;
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < order.size();) {
    const auto v = static_cast<Vertex>(drawn.row[at(order[i])]);
    const auto neighbours = graph.row(v);
    const auto degree = std::ssize(neighbours);
    const bool takes_all = rule.fanout < 0 || (!rule.replacement && degree <= rule.fanout);
    RowCounts counts(v, degree, rule);
    ++check.rows;
    const std::size_t first_of_row = i;
    while (i < order.size() && same(drawn.row, order[i], order[first_of_row])) {
      const std::size_t first = i;
      places.clear();
      for (; i < order.size() && same(drawn.row, order[i], order[first]) &&
             same(drawn.draw, order[i], order[first]);
           ++i) {
        const auto u = static_cast<Vertex>(drawn.neighbour[at(order[i])]);
        const bool again = i > first && same(drawn.neighbour, order[i], order[i - 1]);
        if (again && !rule.replacement) note(check.repeated, order[i]);
        if (!again || rule.replacement)
          places.push_back(std::ranges::lower_bound(neighbours, u) - neighbours.begin());
      }
      if (std::ssize(places) != (takes_all ? degree : rule.fanout))
        note(check.miscounted, order[first]);
      ++check.draws;
      counts.add(places);
    }
    if (takes_all) continue;
    could_be_biased = could_be_biased || degree > 1;
    counts.test(check);
  }
  check.was_tested = check.each.tested > 0 || (!could_be_biased && check.draws > 0);
  return check;
}

}  // namespace orrery
