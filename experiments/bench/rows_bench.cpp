// From a file of edges to the rows of a graph: edges per second of wall time, and of the time of a
// core.
//
//   rows_bench make KIND EDGES VERTICES FILE     random, ordered (by destination) or skewed edges
//   rows_bench FILE VERTICES [THREADS [PARTS COLUMNS [REPEATS]]]
//
// FILE has pairs of uint32. The ranks of PARTS x COLUMNS are threads of this process, and each has
// THREADS threads. The file should be in the page cache: a run that counts comes after another one.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "backends/comm_threads/comm_threads.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/base/rng.hpp"
#include "core/inference/held_rows.hpp"
#include "core/inference/input/edge_list_files.hpp"
#include "experiments/execute/median.hpp"

namespace orrery {
namespace {

void make_edges(const std::string& kind, std::int64_t edges, std::int64_t vertices,
                const std::string& file) {
  Sequence draws(1, Purpose::edges, 0);
  const auto n = static_cast<std::uint64_t>(vertices);
  std::ofstream out(file, std::ios::binary);
  std::vector<std::uint32_t> piece;
  for (std::int64_t i = 0; i < edges; ++i) {
    // Of u^4 a vertex in thirty edges is the first of a million.
    const auto vertex = [&] {
      return static_cast<std::uint32_t>(
          kind == "skewed" ? static_cast<std::uint64_t>(static_cast<double>(vertices) *
                                                        std::pow(draws.uniform(), 4))
                           : draws.below(n));
    };
    piece.push_back(vertex());
    piece.push_back(kind == "ordered" ? static_cast<std::uint32_t>(i * vertices / edges)
                                      : vertex());
    if (piece.size() == 1 << 20 || i + 1 == edges) {
      out.write(reinterpret_cast<const char*>(piece.data()),
                static_cast<std::streamsize>(piece.size() * sizeof(std::uint32_t)));
      piece.clear();
    }
  }
  if (!out) throw Error(file + ": cannot be written");
}

struct Taken {
  double wall = 0, processor = 0, read = 0;
  std::int64_t peak_bytes = 0;  ///< of one rank
};

Taken build_once(const std::string& file, std::int64_t vertices, int threads,
                 const TileLayout& layout, std::uint64_t& digest) {
  std::vector<RowsCost> costs(at(layout.ranks()));
  std::vector<std::uint64_t> digests(costs.size());
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t used = std::clock();
  const auto build = [&](int rank, Communicator* communicator) {
    const ThreadPool pool(threads);
    const EdgeListFiles files({{file}, "uint32", vertices});
    const auto share = files.share(rank, layout.ranks());
    return build_rows(*share, false, layout, rank, communicator, 1 << 20, &costs[at(rank)]);
  };
  std::vector<HeldRows> rows(costs.size());
  if (layout.ranks() == 1)
    rows[0] = build(0, nullptr);
  else
    ThreadWorld(layout.ranks()).run([&](int rank, Communicator& communicator) {
      rows[at(rank)] = build(rank, &communicator);
    });
  Taken taken;
  taken.processor = static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC;
  taken.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (const RowsCost& cost : costs) {
    taken.read = std::max(taken.read, cost.read_seconds);
    taken.peak_bytes = std::max(taken.peak_bytes, cost.peak_bytes);
  }
  digest = 0;
  for (const HeldRows& part : rows) {
    for (const Vertex v : part.csr->columns) digest = digest * 31 + static_cast<std::uint64_t>(v);
    for (const EdgeIndex i : part.csr->offsets)
      digest = digest * 31 + static_cast<std::uint64_t>(i);
    for (const Vertex d : part.degrees) digest = digest * 31 + static_cast<std::uint64_t>(d);
    digest += part.symmetric ? 1 : 0;
  }
  return taken;
}

void measure(const std::string& file, std::int64_t vertices, int threads, const TileLayout& layout,
             int repeats) {
  const double edges = static_cast<double>(std::filesystem::file_size(file)) / 8;
  std::vector<double> wall, processor, read;
  std::uint64_t digest = 0;
  Taken last;
  for (int i = 0; i < repeats; ++i) {
    last = build_once(file, vertices, threads, layout, digest);
    wall.push_back(last.wall);
    processor.push_back(last.processor);
    read.push_back(last.read);
  }
  fmt::print(
      "{} x {} ranks of {} threads: {:.3f} s (files {:.3f} s), {:.1f} M edges/s; {:.3f} s of a "
      "core, "
      "{:.1f} M edges/s; at most {:.1f} bytes an edge of a rank; digest {:016x}\n",
      layout.row_parts, layout.column_parts, threads, median(wall), median(read),
      edges / median(wall) / 1e6, median(processor), edges / median(processor) / 1e6,
      static_cast<double>(last.peak_bytes) / edges, digest);
}

int run(const std::vector<std::string>& words) {
  if (words.size() == 5 && words[0] == "make") {
    make_edges(words[1], std::stoll(words[2]), std::stoll(words[3]), words[4]);
    return 0;
  }
  if (words.size() < 2 || words.size() > 6 || words.size() == 4) {
    fmt::print(stderr,
               "usage: rows_bench make random|ordered|skewed EDGES VERTICES FILE\n"
               "       rows_bench FILE VERTICES [THREADS [PARTS COLUMNS [REPEATS]]]\n");
    return 2;
  }
  const auto number = [&](std::size_t i, int otherwise) {
    return words.size() > i ? std::stoi(words[i]) : otherwise;
  };
  measure(words[0], std::stoll(words[1]), number(2, available_cores()),
          {std::stoll(words[1]), number(3, 1), number(4, 1)}, number(5, 5));
  return 0;
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  try {
    return orrery::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "rows_bench: {}\n", error.what());
    return 1;
  }
}
