#include "core/cost/mggcn.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/index.hpp"
#include "core/cost/require.hpp"

namespace orrery::cost {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

struct Pair {
  int a, b;
  double links;
};

Links joined(int gpus, std::span<const Pair> pairs, double link_bytes_per_second) {
  require_positive(link_bytes_per_second, "one link's rate");
  const auto n = static_cast<std::size_t>(gpus);
  Links result{gpus, std::vector<double>(n * n), 0, link_bytes_per_second};
  for (const Pair& p : pairs) {
    const auto a = static_cast<std::size_t>(p.a), b = static_cast<std::size_t>(p.b);
    result.between[a * n + b] = result.between[b * n + a] = p.links;
  }
  return result;
}

void require_links(const Links& links) {
  require(links.gpus >= 1, "there must be at least one GPU");
  require_positive(links.link_bytes_per_second, "one link's rate");
  if (links.between.empty()) return require_positive(links.to_switch, "links to the switch");
  const auto n = static_cast<std::size_t>(links.gpus);
  require(links.between.size() == n * n, "the link matrix must have a row and column per GPU");
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b)
      require(links.between[a * n + b] >= 0 && links.between[a * n + b] == links.between[b * n + a],
              "the link matrix must be symmetric and not negative");
}

void require_group(const Links& links, std::span<const int> group) {
  std::vector<bool> seen(static_cast<std::size_t>(links.gpus));
  require(!group.empty(), "a group must have a GPU");
  for (const int gpu : group) {
    require(gpu >= 0 && gpu < links.gpus, "a group must be of the server's GPUs");
    require(!seen[at(gpu)], "a group must hold a GPU once");
    seen[at(gpu)] = true;
  }
}

/// The links among the group's members, [size][size].
std::vector<double> among(const Links& links, std::span<const int> group) {
  std::vector<double> w;
  for (const int a : group)
    for (const int b : group) w.push_back(a == b ? 0 : links.between[at(a * links.gpus + b)]);
  return w;
}

/// One round of Stoer and Wagner: orders the vertices, each next the one with most links to those
/// before it. Returns the last two; `cut` becomes the links of the last.
std::pair<std::size_t, std::size_t> last_two(const std::vector<double>& w, std::size_t n,
                                             const std::vector<std::size_t>& vertices,
                                             double& cut) {
  std::vector<double> to_chosen(n);
  std::vector<std::size_t> left = vertices;
  std::size_t before = left.front(), last = left.front();
  while (!left.empty()) {
    const auto next = std::max_element(left.begin(), left.end(), [&](std::size_t a, std::size_t b) {
      return to_chosen[a] < to_chosen[b];
    });
    before = std::exchange(last, *next);
    left.erase(next);
    cut = to_chosen[last];
    for (const std::size_t v : left) to_chosen[v] += w[last * n + v];
  }
  return {before, last};
}

/// Least cut of a weighted graph (Stoer and Wagner 1997): n - 1 rounds, each merging two vertices.
double least_cut(std::vector<double> w, std::size_t n) {
  std::vector<std::size_t> vertices(n);
  std::iota(vertices.begin(), vertices.end(), std::size_t{0});
  double least = kUnbounded;
  while (vertices.size() > 1) {
    double cut = 0;
    const auto [into, gone] = last_two(w, n, vertices, cut);
    least = std::min(least, cut);
    std::erase(vertices, gone);
    for (const std::size_t v : vertices)
      if (v != into) w[v * n + into] = w[into * n + v] += w[gone * n + v];
  }
  return least;
}

/// The slowest of several groups that all broadcast at once.
double slowest(const Links& links, const std::vector<std::vector<int>>& groups) {
  double least = kUnbounded;
  for (const auto& group : groups) least = std::min(least, broadcast_links(links, group));
  require(least > 0, "a group of GPUs is not connected by links");
  return least;
}

std::vector<int> all_gpus(const Links& links) {
  std::vector<int> all(static_cast<std::size_t>(std::max(links.gpus, 0)));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void require_grid(const Links& links, const std::vector<std::vector<int>>& groups) {
  const std::size_t c = groups.size(), p = static_cast<std::size_t>(links.gpus);
  require(c >= 1 && p % (c * c) == 0, "the square of the copies must divide the GPUs");
  std::vector<int> members;
  for (const auto& group : groups) {
    require(group.size() == p / c, "the groups must be of equal size");
    members.insert(members.end(), group.begin(), group.end());
  }
  require_group(links, members);
}

/// The ranks that hold the same tile: member i of every group.
std::vector<std::vector<int>> copies_of_tiles(const std::vector<std::vector<int>>& groups) {
  std::vector<std::vector<int>> copies(groups.front().size());
  for (const auto& group : groups)
    for (std::size_t i = 0; i < group.size(); ++i) copies[i].push_back(group[i]);
  return copies;
}

void require_stages(std::span<const double> broadcast, std::span<const double> product) {
  require(!product.empty() && broadcast.size() == product.size(),
          "every stage needs the time of its broadcast and of its product");
  for (std::size_t i = 0; i < product.size(); ++i)
    require(broadcast[i] >= 0 && product[i] >= 0, "the time of a stage must not be negative");
}

}  // namespace

Links dgx1_links(double link_bytes_per_second) {
  static constexpr Pair kPairs[] = {
      {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 5, 2}, {2, 3, 2}, {4, 7, 2}, {5, 6, 2}, {6, 7, 2},
      {0, 1, 1}, {0, 2, 1}, {1, 3, 1}, {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1}, {5, 7, 1}};
  return joined(8, kPairs, link_bytes_per_second);
}

Links dgx1_links_as_assumed(double link_bytes_per_second) {
  static constexpr Pair kPairs[] = {
      {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 5, 2}, {2, 3, 1}, {4, 7, 2}, {5, 6, 2}, {6, 7, 1},
      {0, 1, 1}, {0, 2, 1}, {1, 3, 1}, {2, 6, 2}, {3, 7, 2}, {4, 5, 1}, {4, 6, 1}, {5, 7, 1}};
  return joined(8, kPairs, link_bytes_per_second);
}

Links switched_links(int gpus, double links_per_gpu, double link_bytes_per_second) {
  const Links links{gpus, {}, links_per_gpu, link_bytes_per_second};
  require_links(links);
  return links;
}

double broadcast_links(const Links& links, std::span<const int> group) {
  require_links(links);
  require_group(links, group);
  if (group.size() == 1) return kUnbounded;
  return links.between.empty() ? links.to_switch : least_cut(among(links, group), group.size());
}

double spmm_1d_seconds(const Links& links, double matrix_bytes) {
  return spmm_15d_seconds(links, matrix_bytes, {all_gpus(links)});
}

double spmm_15d_seconds(const Links& links, double matrix_bytes,
                        const std::vector<std::vector<int>>& groups) {
  require_links(links);
  require_positive(matrix_bytes, "the bytes of the matrix");
  require_grid(links, groups);
  const double p = links.gpus, c = static_cast<double>(groups.size()),
               l = links.link_bytes_per_second;
  const double tile_bytes = matrix_bytes * c / p;
  const double broadcasts = p / (c * c) * tile_bytes / (slowest(links, groups) * l);
  const double sum_bytes = 2 * (c - 1) / c * tile_bytes;
  return broadcasts + sum_bytes / (slowest(links, copies_of_tiles(groups)) * l);
}

double serial_seconds(std::span<const double> broadcast, std::span<const double> product) {
  require_stages(broadcast, product);
  return std::accumulate(broadcast.begin(), broadcast.end(), 0.0) +
         std::accumulate(product.begin(), product.end(), 0.0);
}

double overlapped_seconds(std::span<const double> broadcast, std::span<const double> product) {
  require_stages(broadcast, product);
  double seconds = broadcast.front() + product.back();
  for (std::size_t i = 1; i < product.size(); ++i)
    seconds += std::max(broadcast[i], product[i - 1]);
  return seconds;
}

double overlap_slowdown(double link_bytes_per_second, double memory_bytes_per_second) {
  require_positive(link_bytes_per_second, "the link's rate");
  require_positive(memory_bytes_per_second, "the memory's rate");
  require(link_bytes_per_second < memory_bytes_per_second,
          "the link's rate must be under the memory's");
  return 1 / (1 - link_bytes_per_second / memory_bytes_per_second);
}

double buffer_bytes(double layers, double vertices, double gpus, double width,
                    double bytes_per_element) {
  require_count(layers, "layers");
  require_positive(vertices, "vertices");
  require_count(gpus, "GPUs");
  require_positive(width, "width");
  require_positive(bytes_per_element, "bytes per element");
  return (layers + 3) * vertices / gpus * width * bytes_per_element;
}

double buffer_bytes(std::span<const double> widths, double vertices, double gpus,
                    double bytes_per_element) {
  require(widths.size() >= 2, "a layer needs the width before it and the width behind it");
  require_positive(vertices, "vertices");
  require_count(gpus, "GPUs");
  require_positive(bytes_per_element, "bytes per element");
  double shared = 0, own = 0;
  for (std::size_t l = 0; l < widths.size(); ++l) require_positive(widths[l], "width");
  for (std::size_t l = 1; l < widths.size(); ++l) {
    shared = std::max(shared, std::min(widths[l - 1], widths[l]));
    own += std::max(widths[l - 1], widths[l]);
  }
  return vertices / gpus * (3 * shared + own) * bytes_per_element;
}

}  // namespace orrery::cost
