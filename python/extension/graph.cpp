// Graphs in compressed rows.
#include <fmt/core.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/graph/csr.hpp"
#include "python/extension/arrays.hpp"
#include "python/extension/parts_of_module.hpp"

namespace orrery::python {
namespace {

/// The first of `values` outside of [0, limit) is told with its place.
void require_within(std::span<const Vertex> values, std::int64_t limit, const char* what) {
  const auto bad = std::ranges::find_if(values, [&](Vertex v) { return v < 0 || v >= limit; });
  if (bad != values.end())
    throw DataError(fmt::format("{}[{}]", what, bad - values.begin()), "",
                    fmt::format("expected a vertex from 0 to {}, found {}", limit - 1, *bad));
}

void require_vertices(std::int64_t vertices) {
  if (vertices < 0 || vertices > kMaxVertices)
    throw ConfigError("num_nodes",
                      fmt::format("expected 0 to {}, found {}", kMaxVertices, vertices));
}

Csr from_edges(std::int64_t vertices, const Array<Vertex>& source, const Array<Vertex>& destination,
               int threads) {
  require_threads(threads);
  require_vertices(vertices);
  if (source.shape(0) != destination.shape(0))
    throw ShapeError(fmt::format("edges: {} sources, but {} destinations", source.shape(0),
                                 destination.shape(0)));
  const auto from = span_of(source), to = span_of(destination);
  const Computing computing(threads);
  require_within(from, vertices, "edge_index[0]");
  require_within(to, vertices, "edge_index[1]");
  return build_csr(vertices, from, to);
}

/// A pattern whose rows Python has already.
Csr from_rows(const Array<EdgeIndex>& offsets, const Array<Vertex>& columns, std::int64_t cols) {
  require_vertices(cols);
  const auto starts = span_of(offsets);
  if (starts.empty() || starts.front() != 0)
    throw DataError("indptr", "", "expected to begin with 0");
  if (starts.back() != static_cast<EdgeIndex>(columns.shape(0)))
    throw ShapeError(fmt::format("indptr ends with {}, but there are {} indices", starts.back(),
                                 columns.shape(0)));
  const nb::gil_scoped_release released;
  const auto falls = std::ranges::adjacent_find(starts, std::ranges::greater());
  if (falls != starts.end())
    throw DataError(fmt::format("indptr[{}]", falls - starts.begin() + 1), "",
                    fmt::format("expected no less than {}, found {}", falls[0], falls[1]));
  require_within(span_of(columns), cols, "indices");
  Csr made{static_cast<std::int64_t>(starts.size()) - 1,
           cols,
           {starts.begin(), starts.end()},
           vector_of(columns)};
  for (std::int64_t row = 0; row < made.rows; ++row) {
    auto* const first = made.columns.data() + made.offsets[at(row)];
    auto* const last = made.columns.data() + made.offsets[at(row + 1)];
    if (std::adjacent_find(first, last, std::greater_equal()) == last) continue;
    throw DataError(fmt::format("row {} of indices", row), "",
                    "expected columns that ascend and are distinct; sort the rows first, or give "
                    "the edges as edge_index");
  }
  return made;
}

/// Row 0: where an entry comes from, its column; row 1: where it goes, its row.
auto edge_index(const Csr& graph) {
  const std::size_t entries = graph.columns.size();
  std::vector<std::int64_t> both(2 * entries);
  std::ranges::copy(graph.columns, both.begin());
  for (std::int64_t row = 0; row < graph.rows; ++row)
    std::fill(both.begin() + static_cast<std::ptrdiff_t>(entries) + graph.offsets[at(row)],
              both.begin() + static_cast<std::ptrdiff_t>(entries) + graph.offsets[at(row + 1)],
              row);
  auto* kept = new std::vector<std::int64_t>(std::move(both));
  const nb::capsule owner(
      kept, [](void* v) noexcept { delete static_cast<std::vector<std::int64_t>*>(v); });
  return nb::ndarray<nb::numpy, std::int64_t, nb::ndim<2>>(kept->data(), {2, entries}, owner);
}

}  // namespace

void add_graph(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Csr>(module, "Csr",
                  "A graph in compressed rows: row v lists the in-neighbours of v, so the edge "
                  "u -> v is the entry (v, u). Made by orrery.graph(); not changed by anything.")
      .def_prop_ro(
          "indptr",
          [](nb::handle self) {
            return view_of(std::span<const EdgeIndex>(nb::cast<Csr&>(self).offsets), self);
          },
          "int64 [rows + 1]: where rows begin in indices")
      .def_prop_ro(
          "indices",
          [](nb::handle self) {
            return view_of(std::span<const Vertex>(nb::cast<Csr&>(self).columns), self);
          },
          "int32 [nnz]: columns, row after row")
      .def_prop_ro(
          "shape", [](const Csr& graph) { return std::pair(graph.rows, graph.cols); },
          "(rows, columns)")
      .def_prop_ro("nnz", &Csr::nnz, "number of entries")
      .def_prop_ro("edge_index", &edge_index, nb::rv_policy::automatic,
                   "int64 [2, nnz], a new array: row 0 the column, row 1 the row of each entry")
      .def(
          "transpose",
          [](const Csr& graph) {
            const Computing computing(0);
            return transpose(graph);
          },
          "The graph with every edge turned round.")
      .def(
          "symmetrise",
          [](const Csr& graph) {
            if (graph.rows != graph.cols) throw ShapeError("symmetrise: expected a square graph");
            const Computing computing(0);
            return symmetrise(graph);
          },
          "The graph with the reverse of every edge added.")
      .def("__eq__", [](const Csr& a, const Csr& b) { return a == b; })
      .def("__repr__", [](const Csr& graph) {
        return fmt::format("<orrery.Csr {} x {}, {} entries>", graph.rows, graph.cols, graph.nnz());
      });
  module.def("csr_from_edges", &from_edges, "vertices"_a, "source"_a.noconvert(),
             "destination"_a.noconvert(), "threads"_a = 0);
  module.def("csr_from_rows", &from_rows, "indptr"_a.noconvert(), "indices"_a.noconvert(),
             "columns"_a);
}

}  // namespace orrery::python
