// Reads SNAP-style edge lists and numbers their vertices densely.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <limits>
#include <optional>
#include <span>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/plausible.hpp"
#include "core/graph/read/readers.hpp"

namespace orrery {
namespace {

struct IdEdge {
  std::uint64_t source, destination;
};
using IdChunks = std::vector<std::vector<IdEdge>>;

/// Counts that SNAP writes into the comments on top: "# Nodes: 7115 Edges: 103689".
struct Header {
  std::optional<std::int64_t> nodes, edges;
  std::vector<std::string> notes;  ///< the text after a key that is no count
};

/// The whole number at the start of a text; only a blank, ';', ',' or '.' may follow it.
std::optional<std::int64_t> count_at_start(std::string_view text) {
  std::int64_t count = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  const bool ends = rest == end ||
                    std::string_view(" \t\r").find(*rest) != std::string_view::npos ||
                    (std::string_view(";,.").find(*rest) != std::string_view::npos &&
                     (rest + 1 == end || *(rest + 1) < '0' || *(rest + 1) > '9'));
  return error == std::errc() && count >= 0 && ends ? std::optional(count) : std::nullopt;
}

/// Looks for the key in a comment. Comments may say anything: what follows a key, looks like a
/// number, but is none of ours is noted and not used.
void read_count(Header& header, std::string_view line, std::string_view key,
                std::optional<std::int64_t>& count) {
  const auto found = line.find(key);
  if (found == std::string_view::npos) return;
  line.remove_prefix(found + key.size());
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  if (line.find_first_of("0123456789") != 0) return;
  if (const auto stated = count_at_start(line))
    count = stated;
  else
    header.notes.push_back(
        fmt::format("the header's '{} {}' is no whole number below 2^63 and is not used", key,
                    line.substr(0, std::min<std::size_t>(line.find_first_of(" \t\r"), 40))));
}

Header read_header(std::string_view text) {
  Header header;
  while (text.starts_with('#') || text.starts_with('%')) {
    const std::string_view line = text.substr(0, text.find('\n'));
    read_count(header, line, "Nodes:", header.nodes);
    read_count(header, line, "Edges:", header.edges);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return header;
}

/// Calls f(chunk) for every chunk in parallel.
template <class F>
void for_each_chunk(IdChunks& chunks, const F& f) {
  parallel_for(static_cast<std::int64_t>(chunks.size()), 1,
               [&](std::int64_t k, std::int64_t) { f(static_cast<std::size_t>(k)); });
}

/// The distinct vertex numbers, ascending: sorted per chunk, then merged pairwise.
std::vector<std::uint64_t> distinct_ids(IdChunks& chunks) {
  std::vector<std::vector<std::uint64_t>> sets(chunks.size());
  for_each_chunk(chunks, [&](std::size_t k) {
    auto& ids = sets[k];
    ids.reserve(2 * chunks[k].size());
    for (const IdEdge& edge : chunks[k]) ids.insert(ids.end(), {edge.source, edge.destination});
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    ids.shrink_to_fit();
  });
  for (std::size_t step = 1; step < sets.size(); step *= 2) {
    const auto pairs = static_cast<std::int64_t>((sets.size() + 2 * step - 1) / (2 * step));
    parallel_for(pairs, 1, [&](std::int64_t pair, std::int64_t) {
      const std::size_t left = static_cast<std::size_t>(pair) * 2 * step, right = left + step;
      if (right >= sets.size()) return;
      std::vector<std::uint64_t> merged;
      std::ranges::set_union(sets[left], sets[right], std::back_inserter(merged));
      sets[left] = std::move(merged);
      std::vector<std::uint64_t>().swap(sets[right]);
    });
  }
  return std::move(sets.front());
}

std::uint64_t largest_id(IdChunks& chunks) {
  std::vector<std::uint64_t> largest(chunks.size(), 0);
  for_each_chunk(chunks, [&](std::size_t k) {
    for (const IdEdge& edge : chunks[k])
      largest[k] = std::max({largest[k], edge.source, edge.destination});
  });
  return *std::ranges::max_element(largest);
}

/// Which of the numbers 0..largest occur, if that table is no larger than the edges themselves.
std::optional<std::vector<std::uint8_t>> presence(IdChunks& chunks, std::uint64_t largest,
                                                  std::int64_t edges) {
  if (largest >= static_cast<std::uint64_t>(16 * edges + 4096)) return std::nullopt;
  std::vector<std::uint8_t> present(static_cast<std::size_t>(largest) + 1);
  for_each_chunk(chunks, [&](std::size_t k) {
    const auto mark = [&](std::uint64_t id) {
      std::atomic_ref(present[at(id)]).store(1, std::memory_order_relaxed);
    };
    for (const IdEdge& edge : chunks[k]) {
      mark(edge.source);
      mark(edge.destination);
    }
  });
  return present;
}

std::int64_t checked_count(const TextFile& file, std::uint64_t vertices) {
  if (vertices > static_cast<std::uint64_t>(kMaxVertices))
    throw DataError(file.path(), "",
                    fmt::format("expected at most {} vertices, found {}", kMaxVertices, vertices));
  return static_cast<std::int64_t>(vertices);
}

/// The file's numbers of vertices, as a folder keeps them.
VertexNames names_of(std::span<const std::uint64_t> ids) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (ids.back() <= kMost) return {{ids.begin(), ids.end()}, {}};
  VertexNames names;
  for (const std::uint64_t id : ids) names.words.push_back(std::to_string(id));
  return names;
}

/// The edges between dense vertex numbers; notes how the file's numbers were changed, and tells `names`, if given.
EdgeList renumbered(Dataset& dataset, const TextFile& file, const Header& header, IdChunks& chunks,
                    std::int64_t edges, VertexNames* names) {
  const std::uint64_t largest = largest_id(chunks);
  const auto note = [&](std::span<const std::uint64_t> ids) {
    if (names != nullptr) *names = names_of(ids);
    dataset.notes.push_back(fmt::format(
        "vertices renumbered: the {} numbers between {} and {} became 0 to {} in ascending order; "
        "orrery dataset convert keeps them",
        ids.size(), ids.front(), largest, ids.size() - 1));
  };
  if (header.nodes && largest < static_cast<std::uint64_t>(*header.nodes)) {
    const std::int64_t vertices = checked_count(file, static_cast<std::uint64_t>(*header.nodes));
    const std::int64_t most = most_plausible(std::ssize(file.text()));
    if (vertices > most)
      throw DataError(file.path(), "",
                      fmt::format("expected at most {} vertices in a text of {} bytes, found "
                                  "'Nodes: {}' in its header; correct or remove that line",
                                  most, file.text().size(), vertices));
    return join_chunks(vertices, std::move(chunks),
                       [](std::uint64_t id) { return static_cast<Vertex>(id); });
  }
  if (const auto present = presence(chunks, largest, edges)) {
    std::vector<Vertex> number(present->size());
    std::vector<std::uint64_t> ids;
    std::size_t next = 0;
    for (std::size_t id = 0; id < number.size(); ++id) {
      number[id] = static_cast<Vertex>(next);
      next += (*present)[id];
    }
    const std::int64_t vertices = checked_count(file, next);
    if (next != number.size()) {
      for (std::size_t id = 0; id < number.size(); ++id)
        if ((*present)[id] != 0) ids.push_back(id);
      note(ids);
    }
    return join_chunks(vertices, std::move(chunks),
                       [&](std::uint64_t id) { return number[at(id)]; });
  }
  const std::vector<std::uint64_t> ids = distinct_ids(chunks);
  const std::int64_t vertices = checked_count(file, ids.size());
  note(ids);
  return join_chunks(vertices, std::move(chunks), [&](std::uint64_t id) {
    return static_cast<Vertex>(std::ranges::lower_bound(ids, id) - ids.begin());
  });
}

}  // namespace

Dataset read_snap(const TextFile& file, VertexNames* names) {
  std::atomic<bool> more_columns{false};
  IdChunks chunks = parse_lines<IdEdge>(file, file.text().data(), [&](Line& line, auto& out) {
    const std::uint64_t source = line.integer("a vertex number (the edge's source)");
    out.push_back({source, line.integer("a vertex number (the edge's destination)")});
    if (line.at_end()) return;
    more_columns.store(true, std::memory_order_relaxed);
    while (!line.at_end()) line.number("a number (an attribute of the edge)");
  });

  std::int64_t edges = 0;
  for (const auto& chunk : chunks) edges += static_cast<std::int64_t>(chunk.size());
  if (edges == 0)
    throw DataError(file.path(), "line 1",
                    "expected an edge list, one 'source destination' per line, found no edge");
  const Header header = read_header(file.text());
  if (header.edges && edges < *header.edges)
    file.fail({file.end(),
               fmt::format("expected {} edges as the header says, found {} (the file is cut short)",
                           *header.edges, edges)});

  Dataset dataset;
  dataset.notes = header.notes;
  if (more_columns) dataset.notes.push_back("columns after the second (edge attributes) ignored");
  if (!file.text().ends_with('\n'))
    dataset.notes.push_back(
        "the last line has no line end; if the file was cut there, edges are missing");
  set_graph(dataset, renumbered(dataset, file, header, chunks, edges, names));
  return dataset;
}

}  // namespace orrery
