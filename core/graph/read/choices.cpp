#include "core/graph/read/choices.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/rng.hpp"

namespace orrery {
namespace {

/// Where the drawn order changes from training to validation, and to test.
struct SplitEnds {
  std::int64_t train, validation;
};

SplitEnds ends_of_split(std::int64_t labelled, std::optional<double> training_share) {
  if (!training_share) return {(70 * labelled + 99) / 100, (85 * labelled + 99) / 100};
  const auto train = std::llround(*training_share * static_cast<double>(labelled));
  return {train, train + (labelled - train + 1) / 2};
}

/// Train, validation and test in the shares 70, 15 and 15 % of the labelled vertices, or as asked.
void draw_split(std::vector<Split>& split, std::vector<std::string>& notes, std::int64_t vertices,
                const IsLabelled& labelled, const DatasetOptions& options) {
  std::vector<std::pair<std::uint64_t, std::size_t>> order;
  for (std::int64_t v = 0; v < vertices; ++v) {
    if (!labelled(v)) continue;
    const auto bits = random_bits(options.seed, Purpose::split, static_cast<std::uint32_t>(v));
    order.emplace_back(std::uint64_t{bits[0]} << 32U | bits[1], v);
  }
  std::ranges::sort(order);
  split.assign(static_cast<std::size_t>(vertices), Split::none);
  const SplitEnds ends = ends_of_split(std::ssize(order), options.training_share);
  for (std::int64_t i = 0; i < std::ssize(order); ++i)
    split[order[at(i)].second] = i < ends.train        ? Split::train
                                 : i < ends.validation ? Split::validation
                                                       : Split::test;
  const double training = 100 * options.training_share.value_or(0.7);
  notes.push_back(fmt::format(
      "split: {:.4g}/{:.4g}/{:.4g} % of the {} labelled vertices, drawn "
      "with seed {}",
      training, (100 - training) / 2, (100 - training) / 2, order.size(), options.seed));
}

}  // namespace

void choose_features(std::shared_ptr<const Features>& features, std::vector<std::string>& notes,
                     std::int64_t vertices, const DatasetOptions& options) {
  if (options.random_features) {
    const std::int64_t width = *options.random_features;
    if (width < 1 || width > 1 << 24)
      throw ConfigError("dataset.features.random",
                        fmt::format("expected 1 to {} columns, found {}", 1 << 24, width));
    features = random_features(vertices, width, options.seed);
    notes.push_back("features: " + features->provenance());
  }
  if (!features) {
    if (options.row_normalise.value_or(false))
      throw ConfigError("dataset.row_normalise", "the data set has no features to normalise");
    return;
  }
  if (!options.row_normalise.value_or(features->binary())) return;
  features = row_normalised(features);
  notes.push_back("features: every row divided by its sum (row_normalise)");
}

void refuse_missing_features(const std::string& name) {
  throw ConfigError("dataset.missing_features",
                    fmt::format("is of sets in which some types of vertices have features and "
                                "others none, and '{}' is no such set: leave it out",
                                name));
}

void choose_split(std::vector<Split>& split, std::vector<std::string>& notes, std::int64_t vertices,
                  const IsLabelled& labelled, const DatasetOptions& options) {
  if (options.random_split || split.empty())
    return draw_split(split, notes, vertices, labelled, options);
  std::int64_t dropped = 0, added = 0;
  for (std::int64_t v = 0; v < vertices; ++v) {
    Split& mine = split[at(v)];
    if (options.train_on_rest && mine == Split::none && labelled(v)) {
      mine = Split::train;
      ++added;
    }
    if (mine == Split::none || labelled(v)) continue;
    mine = Split::none;
    ++dropped;
  }
  if (added > 0)
    notes.push_back(
        fmt::format("split: {} labelled vertices outside of the published split are training "
                    "vertices, too",
                    added));
  if (dropped > 0) notes.push_back(fmt::format("split: {} unlabelled vertices left out", dropped));
}

}  // namespace orrery
