#include "core/graph/generate/generate.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/base/available_memory.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/base/units.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kDrawBlock = 1 << 14;
constexpr std::uint32_t kMaxRounds = 24;

void require(bool good, const char* key, const std::string& problem) {
  if (!good) throw ConfigError(std::string("dataset.") + key, problem);
}

void check_options(const DatasetOptions& o) {
  const std::int64_t n = o.generate_vertices;
  const bool from_file = !o.degree_file.empty();
  if (!from_file || n != 0) {
    require(n >= 1 && n <= kMaxVertices, "vertices",
            fmt::format("expected 1 to {} vertices, found {}", kMaxVertices, n));
    const std::int64_t pairs = n * (n - 1) / 2;
    require(o.generate_edges >= 0 && o.generate_edges <= pairs, "edges",
            fmt::format("expected 0 to {} undirected edges between {} vertices, found {}", pairs, n,
                        o.generate_edges));
    const auto problem = why_too_large(n, o.generate_edges);
    require(!problem, "vertices", problem.value_or(""));
  }
  require(
      o.generate_classes >= 0 && o.generate_classes <= std::max<std::int64_t>(n, 1 << 20),
      "classes",
      fmt::format("expected 0 to {} (the number of vertices), found {}", n, o.generate_classes));
  require(o.generate_features >= 0 && o.generate_features <= 1 << 24, "features",
          fmt::format("expected 0 to {} columns, found {}", 1 << 24, o.generate_features));
  require(o.mixing >= 0 && o.mixing <= 1, "mixing",
          fmt::format("expected a share from 0 to 1, found {}", o.mixing));
  require(o.feature_signal >= 0 && std::isfinite(o.feature_signal), "feature_signal",
          fmt::format("expected a distance from 0 on, found {}", o.feature_signal));
  require(o.exponent > 1 && o.exponent <= 100, "exponent",
          fmt::format("expected a number above 1 and at most 100, found {}", o.exponent));
  require(o.clustering >= 0 && o.clustering <= 1, "clustering",
          fmt::format("expected a coefficient from 0 to 1, found {}", o.clustering));
}

/// Most bytes that making a graph holds at once: while the edges drawn first are sorted, or at the
/// end, while symmetrise() has a half, its transpose and both.
double bytes_to_make(double vertices, double edges) {
  return std::max(16 * vertices + 32 * edges, 24 * vertices + 16 * edges);
}

/// Draws `count` edges into per-block lists, self-loops left out.
std::vector<std::vector<Edge>> draw_round(std::int64_t count, std::uint32_t round,
                                          std::uint64_t seed, const DrawEdge& draw) {
  std::vector<std::vector<Edge>> blocks(
      static_cast<std::size_t>((count + kDrawBlock - 1) / kDrawBlock));
  parallel_for(count, kDrawBlock, [&](std::int64_t begin, std::int64_t end) {
    auto& out = blocks[at(begin / kDrawBlock)];
    out.reserve(static_cast<std::size_t>(end - begin));
    for (std::int64_t i = begin; i < end; ++i) {
      const auto high = static_cast<std::uint32_t>(i >> 32);
      Sequence random(seed, Purpose::edges, static_cast<std::uint32_t>(i), round << 24U | high);
      const auto edge = draw(random);
      if (edge && edge->source != edge->destination)
        out.push_back(ascending(edge->source, edge->destination));
    }
  });
  return blocks;
}

}  // namespace

std::optional<std::string> why_ignored(std::string_view key, std::string_view generator,
                                       bool with_degree_file) {
  struct Rule {
    std::string_view key;
    std::vector<std::string_view> generators;  // empty: all
    bool replaced_by_degree_file = false;
  };
  static const std::vector<Rule> rules{
      {"vertices", {}, true},
      {"edges", {}, true},
      {"communities", {"skewed-communities"}},
      {"mixing", {"communities", "skewed-communities", "typed-communities", "mag", "mag-lsc"}},
      {"feature_signal",
       {"communities", "skewed-communities", "typed-communities", "mag", "mag-lsc"}},
      {"exponent", {"bter", "chung-lu", "skewed-communities"}, true},
      {"clustering", {"bter"}},
      {"degree_file", {"bter", "chung-lu", "skewed-communities"}},
  };
  const auto rule = std::ranges::find(rules, key, &Rule::key);
  if (rule == rules.end()) return std::nullopt;
  if (!rule->generators.empty() &&
      std::ranges::find(rule->generators, generator) == rule->generators.end())
    return fmt::format("only goes with {}", fmt::join(rule->generators, ", "));
  if (rule->replaced_by_degree_file && with_degree_file)
    return "does not go with a degree file, which has it";
  return std::nullopt;
}

std::optional<std::string> why_too_large(std::int64_t vertices, std::int64_t edges) {
  const double bytes = bytes_to_make(static_cast<double>(vertices), static_cast<double>(edges));
  const auto available = available_memory();
  if (!available || bytes <= static_cast<double>(*available)) return std::nullopt;
  return fmt::format(
      "expected a graph that fits into memory, found {} vertices and {} edges, which need {} while "
      "{} are available: use fewer, or a machine with more",
      vertices, edges, human_bytes(bytes), human_bytes(static_cast<double>(*available)));
}

Scramble::Scramble(std::int64_t n, std::uint64_t seed)
    : n_(static_cast<std::uint64_t>(n)),
      mask_(std::bit_ceil(n_) - 1),
      shift_(std::max(1U, static_cast<unsigned>(std::bit_width(mask_)) / 2)) {
  Sequence random(seed, Purpose::permutation, 0);
  for (std::size_t round = 0; round < factor_.size(); ++round) {
    factor_[round] = random.word() | 1U;
    offset_[round] = random.word();
  }
}

Vertex Scramble::operator()(std::int64_t v) const {
  auto x = static_cast<std::uint64_t>(v);
  do {  // a bijection of the next power of two, repeated until it is inside again
    for (std::size_t round = 0; round < factor_.size(); ++round) {
      x = (x * factor_[round] + offset_[round]) & mask_;
      x ^= x >> shift_;
    }
  } while (x >= n_);
  return static_cast<Vertex>(x);
}

Csr draw_undirected(std::int64_t vertices, std::int64_t edges, std::uint64_t seed,
                    std::vector<std::vector<Edge>>&& fixed, const DrawEdge& draw) {
  Csr half = build_csr(join_chunks(
      vertices, std::move(fixed)));  // each edge once, from the smaller to the larger vertex
  for (std::uint32_t round = 0; round < kMaxRounds; ++round) {
    const std::int64_t missing = edges - half.nnz();
    if (missing <= edges / 1000) break;
    half = merge(half, build_csr(join_chunks(vertices, draw_round(missing, round, seed, draw))));
  }
  if (half.nnz() < edges - edges / 10)
    throw ConfigError("dataset.edges",
                      fmt::format("{} distinct edges do not fit: {} were found in {} rounds of "
                                  "draws (use fewer edges, or more vertices)",
                                  edges, half.nnz(), kMaxRounds));
  return symmetrise(half);
}

void add_taught_labels(Dataset& dataset, const DatasetOptions& options) {
  const std::int64_t n = dataset.vertices(), width = options.generate_features,
                     classes = options.generate_classes;
  if (width > 0) {
    dataset.features = random_features(n, width, options.seed);
    dataset.notes.push_back("features: " + dataset.features->provenance());
  }
  if (classes == 0) return;
  require(
      width >= classes, "features",
      fmt::format(
          "expected at least {} columns, one per class (the labels of this generator are made from "
          "them), found {}",
          classes, width));

  std::vector<Vertex> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  std::vector<float> values(static_cast<std::size_t>(n * classes));
  dataset.features->read(all, 0, classes, values.data(), classes);
  dataset.labels = {classes, false, std::vector<std::int32_t>(static_cast<std::size_t>(n))};
  parallel_for(n, 1 << 10, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) {
      std::vector<double> sum(values.begin() + v * classes, values.begin() + (v + 1) * classes);
      for (const Vertex u : dataset.graph->row(v))
        for (std::int64_t k = 0; k < classes; ++k) sum[at(k)] += values[at(u * classes + k)];
      dataset.labels.values[at(v)] =
          static_cast<std::int32_t>(std::ranges::max_element(sum) - sum.begin());
    }
  });
  dataset.notes.push_back(
      fmt::format("labels: generated (the largest of the first {} feature columns, averaged over "
                  "a vertex and its neighbours)",
                  classes));
}

Dataset generated_dataset(Csr graph, const DatasetOptions& options, std::int64_t edges) {
  Dataset dataset;
  dataset.name = options.generator;
  dataset.generated = dataset.symmetric = true;
  dataset.notes.push_back(
      fmt::format("graph: generated ({}, seed {}; {} undirected edges requested, {} drawn, each "
                  "stored in both directions)",
                  options.generator, options.seed, edges, graph.nnz() / 2));
  dataset.graph = std::make_shared<Csr>(std::move(graph));
  return dataset;
}

Dataset generate(const DatasetOptions& options) {
  check_options(options);
  if (options.generator == "communities") return generate_communities(options);
  if (options.generator == "skewed-communities") return generate_skewed_communities(options);
  if (options.generator == "typed-communities") return generate_typed_communities(options);
  if (options.generator == "mag" || options.generator == "mag-lsc") return generate_mag(options);
  if (options.generator == "rmat") return generate_rmat(options);
  if (options.generator == "chung-lu") return generate_chung_lu(options);
  if (options.generator == "bter") return generate_bter(options);
  throw ConfigError(
      "dataset.generate",
      fmt::format("expected communities, skewed-communities, typed-communities, mag, mag-lsc, "
                  "rmat, bter or chung-lu, found '{}'",
                  options.generator));
}

}  // namespace orrery
