#include "experiments/score/scores.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/index.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

/// Right and wrong predictions of one class.
struct ClassCounts {
  std::int64_t true_positive = 0, false_positive = 0, false_negative = 0;
  std::int64_t all() const { return 2 * true_positive + false_positive + false_negative; }
  double f1() const {
    return 2.0 * static_cast<double>(true_positive) / static_cast<double>(all());
  }
};

std::vector<std::int64_t> labelled(const Labels& labels, const std::vector<Split>& split,
                                   Split which) {
  std::vector<std::int64_t> rows;
  for (std::size_t v = 0; v < split.size(); ++v)
    if (split[v] == which && (labels.multilabel || labels.values[v] >= 0))
      rows.push_back(static_cast<std::int64_t>(v));
  return rows;
}

bool is_of(const Labels& labels, std::int64_t row, std::int64_t c) {
  return labels.multilabel ? labels.values[at(row * labels.classes + c)] == 1
                           : labels.values[at(row)] == c;
}

std::vector<ClassCounts> count(std::span<const float> logits, const Labels& labels,
                               const std::vector<std::int64_t>& rows) {
  std::vector<ClassCounts> counts(at(labels.classes));
  for (const std::int64_t row : rows) {
    const auto scores = logits.subspan(at(row * labels.classes), at(labels.classes));
    const auto largest = std::max_element(scores.begin(), scores.end()) - scores.begin();
    for (std::int64_t c = 0; c < labels.classes; ++c) {
      const bool said = labels.multilabel ? scores[at(c)] > 0 : c == largest;
      const bool so = is_of(labels, row, c);
      counts[at(c)].true_positive += said && so ? 1 : 0;
      counts[at(c)].false_positive += said && !so ? 1 : 0;
      counts[at(c)].false_negative += !said && so ? 1 : 0;
    }
  }
  return counts;
}

/// log Σ exp of the logits of each row: a class's rank by softmax is that of its logit less this.
std::vector<double> log_sums(std::span<const float> logits, std::int64_t classes,
                             const std::vector<std::int64_t>& rows) {
  std::vector<double> sums;
  for (const std::int64_t row : rows) {
    const auto scores = logits.subspan(at(row * classes), at(classes));
    const double largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (const float score : scores) sum += std::exp(static_cast<double>(score) - largest);
    sums.push_back(largest + std::log(sum));
  }
  return sums;
}

/// Computed from the sum of the ranks of the vertices of the class (Mann and Whitney); equal scores
/// share their ranks.
std::optional<double> area(std::vector<std::pair<double, bool>> ranked) {
  std::sort(ranked.begin(), ranked.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  double rank_sum = 0, positives = 0;
  for (std::size_t first = 0, last; first < ranked.size(); first = last) {
    last = first;
    double here = 0;
    while (last < ranked.size() && ranked[last].first == ranked[first].first)
      here += ranked[last++].second ? 1 : 0;
    rank_sum += here * (static_cast<double>(first + last + 1) / 2);
    positives += here;
  }
  const double others = static_cast<double>(ranked.size()) - positives;
  if (positives == 0 || others == 0) return std::nullopt;
  return (rank_sum - positives * (positives + 1) / 2) / (positives * others);
}

std::optional<double> mean_area(std::span<const float> logits, const Labels& labels,
                                const std::vector<std::int64_t>& rows) {
  const auto sums = labels.multilabel ? std::vector<double>(rows.size(), 0)
                                      : log_sums(logits, labels.classes, rows);
  double sum = 0;
  int classes = 0;
  for (std::int64_t c = 0; c < labels.classes; ++c) {
    std::vector<std::pair<double, bool>> ranked;
    for (std::size_t i = 0; i < rows.size(); ++i)
      ranked.emplace_back(logits[at(rows[i] * labels.classes + c)] - sums[i],
                          is_of(labels, rows[i], c));
    if (const auto of_class = area(std::move(ranked))) sum += *of_class, ++classes;
  }
  return classes > 0 ? std::optional(sum / classes) : std::nullopt;
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

}  // namespace

Scores scores_of(std::span<const float> logits, const Labels& labels,
                 const std::vector<Split>& split, Split which) {
  const auto rows = labelled(labels, split, which);
  Scores scores;
  scores.vertices = std::ssize(rows);
  ClassCounts all;
  double f1 = 0;
  int classes = 0;
  for (const ClassCounts& of_class : count(logits, labels, rows)) {
    all.true_positive += of_class.true_positive;
    all.false_positive += of_class.false_positive;
    all.false_negative += of_class.false_negative;
    if (of_class.all() == 0) continue;
    f1 += of_class.f1();
    ++classes;
  }
  if (all.all() > 0) scores.accuracy = all.f1();
  if (classes > 0) scores.macro_f1 = f1 / classes;
  scores.auc = mean_area(logits, labels, rows);
  return scores;
}

Json scores_json(std::span<const float> logits, const Labels& labels,
                 const std::vector<Split>& split) {
  Json json = Json::object();
  const std::pair<const char*, Split> splits[] = {
      {"train", Split::train}, {"validation", Split::validation}, {"test", Split::test}};
  for (const auto& [name, which] : splits) {
    const Scores scores = scores_of(logits, labels, split, which);
    json[name] = {{"vertices", scores.vertices},
                  {"accuracy", or_null(scores.accuracy)},
                  {"macro_f1", or_null(scores.macro_f1)},
                  {"auc", or_null(scores.auc)}};
  }
  return json;
}

Json chosen_scores(Json scores, const std::vector<std::string>& metrics) {
  for (auto& [split, of] : scores.items())
    for (const char* key : {"macro_f1", "auc"})
      if (std::find(metrics.begin(), metrics.end(), key) == metrics.end()) of.erase(key);
  return scores;
}

}  // namespace orrery
