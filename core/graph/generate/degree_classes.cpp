// Wanted degrees of generated graphs: a power law, or a file.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "core/graph/files/text.hpp"
#include "core/graph/generate/generate.hpp"

namespace orrery {
namespace {

/// Pareto law with density ~ x^-exponent on [low, high].
struct PowerLaw {
  double exponent, low, high;

  double cumulative(double x) const {
    const double p = 1 - exponent;
    return (1 - std::pow(std::clamp(x, low, high) / low, p)) / (1 - std::pow(high / low, p));
  }
  double mean() const {
    const double p = 1 - exponent, q = 2 - exponent, ratio = high / low;
    const double numerator = std::abs(q) < 1e-9 ? std::log(ratio) : (std::pow(ratio, q) - 1) / q;
    return low * numerator / ((std::pow(ratio, p) - 1) / p);
  }
};

PowerLaw law_with_mean(const DatasetOptions& options) {
  const auto n = static_cast<double>(options.generate_vertices);
  const double mean = 2 * static_cast<double>(options.generate_edges) / n;
  const double high = std::min(n - 1, std::max(4 * mean, std::sqrt(mean * n)));
  PowerLaw law{options.exponent, 0, high};
  double smallest = 1e-3, largest = high * (1 - 1e-9);
  for (int step = 0; step < 100; ++step) {
    law.low = std::sqrt(smallest * largest);
    (law.mean() < mean ? smallest : largest) = law.low;
  }
  if (std::abs(law.mean() - mean) > 0.02 * mean)
    throw ConfigError(
        "dataset.edges",
        fmt::format("no power law with exponent {} on {} vertices has a mean degree of {:.2f}",
                    options.exponent, options.generate_vertices, mean));
  return law;
}

double default_clustering(const DatasetOptions& options, std::int64_t degree) {
  return degree < 2 ? 0 : options.clustering * std::sqrt(2.0 / static_cast<double>(degree));
}

std::vector<DegreeClass> power_law_classes(const DatasetOptions& options) {
  const PowerLaw law = law_with_mean(options);
  std::vector<DegreeClass> classes;
  const auto n = static_cast<double>(options.generate_vertices);
  std::int64_t below = 0;  // vertices of smaller degree
  for (auto degree = std::llround(law.low); below < options.generate_vertices; ++degree) {
    const auto upto = std::llround(n * law.cumulative(static_cast<double>(degree) + 0.5));
    if (upto > below)
      classes.push_back({degree, upto - below, default_clustering(options, degree)});
    below = upto;
  }
  if (classes.back().degree == 0)
    throw ConfigError("dataset.edges",
                      fmt::format("{} edges are too few to give {} vertices power-law degrees",
                                  options.generate_edges, options.generate_vertices));
  return classes;
}

DegreeClass parse_class(Line& line, const DatasetOptions& options) {
  DegreeClass c;
  Line retry = line;
  const std::uint64_t degree = line.integer("a degree"),
                      vertices = line.integer("a number of vertices");
  if (std::max(degree, vertices) >= static_cast<std::uint64_t>(kMaxVertices))
    retry.fail(fmt::format("numbers below {}", kMaxVertices));
  c.degree = static_cast<std::int64_t>(degree);
  c.vertices = static_cast<std::int64_t>(vertices);
  c.clustering = default_clustering(options, c.degree);
  if (line.at_end()) return c;
  retry = line;
  c.clustering = line.number("a clustering coefficient");
  if (!(c.clustering >= 0 && c.clustering <= 1)) retry.fail("a clustering coefficient from 0 to 1");
  if (!line.at_end()) line.fail("'degree count [clustering]', then the end of the line");
  return c;
}

std::vector<DegreeClass> file_classes(const DatasetOptions& options) {
  const TextFile file(options.degree_file);
  std::vector<DegreeClass> classes;
  for (const auto& chunk : parse_lines<DegreeClass>(
           file, file.text().data(),
           [&](Line&line, auto&out) { out.push_back(parse_class(line, options)); }))
    classes.insert(classes.end(), chunk.begin(), chunk.end());
  if (classes.empty())
    throw DataError(file.path(), "line 1",
                    "expected 'degree count [clustering]' lines, found none");
  std::ranges::stable_sort(classes, {}, &DegreeClass::degree);

  std::int64_t vertices = 0, stubs = 0;
  for (const DegreeClass& c : classes) {
    vertices += c.vertices;
    if (vertices > kMaxVertices)
      throw DataError(file.path(), "",
                      fmt::format("expected at most {} vertices in all, found more", kMaxVertices));
    stubs += c.degree * c.vertices;
  }
  const auto agree = [&](const char* key, std::int64_t asked, std::int64_t found) {
    if (asked != 0 && asked != found)
      throw ConfigError(key, fmt::format("{} contradicts {}, which has {} (leave it out)", asked,
                                         file.path(), found));
  };
  agree("dataset.vertices", options.generate_vertices, vertices);
  agree("dataset.edges", options.generate_edges, stubs / 2);
  if (classes.back().degree >= vertices)
    throw DataError(file.path(), "",
                    fmt::format("expected degrees below the number of vertices, found {} vertices "
                                "and degree {}",
                                vertices, classes.back().degree));
  if (const auto problem = why_too_large(vertices, stubs / 2))
    throw DataError(file.path(), "", *problem);
  return classes;
}

}  // namespace

std::vector<DegreeClass> degree_classes(const DatasetOptions& options) {
  if (!options.degree_file.empty()) return file_classes(options);
  if (options.generate_edges == 0) return {{0, options.generate_vertices, 0}};
  return power_law_classes(options);
}

}  // namespace orrery
