// The graph generators behind load_dataset, and what they share. All draws are counter-based: the
// result depends only on the options, never on the number of threads.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/rng.hpp"
#include "core/graph/dataset.hpp"
#include "core/graph/dataset_options.hpp"
#include "core/graph/edge_list.hpp"

namespace orrery {

/// Generates the data set that `options.generator` names. Edges are undirected, stored in both
/// directions, without self-loops or duplicates; vertex numbers are scrambled, so they carry no
/// structure. `generate_edges` distinct undirected edges are drawn (to within 0.1 %: duplicates are
/// drawn again), so the graph has twice as many entries.
///
/// Errors    ConfigError under "dataset": unknown generator, or impossible parameters
Dataset generate(const DatasetOptions& options);

/// Planted communities of equal size: a share `mixing` of the edges joins different communities.
/// Label = community; features = centre of the class plus unit noise (class_features).
Dataset generate_communities(const DatasetOptions& options);

/// Planted communities as equal in size and degrees as possible, `communities` of them, with the
/// degrees of degree_classes(): a share `mixing` of the edges joins different communities. Label =
/// community modulo classes; features as of generate_communities.
///
/// Source    Karrer, Newman 2011 (degree-corrected blocks), every pair of communities alike
/// Departs   an edge within a community goes to the vertex of that community that stands next to
///           the drawn one in the order of degrees; duplicates are drawn again, so hubs of small
///           communities get fewer edges than wanted and the other vertices more
Dataset generate_skewed_communities(const DatasetOptions& options);

/// Planted communities of papers, authors (about half of the vertices each) and venues (a
/// twentieth). Classes form pairs. A paper of a class is written by authors of this class, reviewed
/// by authors of the pair's other class, cites papers of the pair, and is published by venues of
/// the pair: 3, 3, 3 and 1 of ten edges, a share `mixing` of which come from another community. The
/// reverse of each relation is one too (rev_writes). Label of a paper = its class. Authors have the
/// centre of their class and unit noise as features, venues that of their pair, papers noise.
///
/// Without the kinds of edges the neighbours of a paper are of the same types and classes for both
/// classes of a pair.
Dataset generate_typed_communities(const DatasetOptions& options);

/// Papers, authors, institutions and (of `mag`) fields of study, with the shares of vertices and of edges
/// of relations that ogbn-mag has (`mag`) or MAG240M (`mag-lsc`). Classes are planted communities of all
/// types, a share `mixing` of the edges joins different ones; within one, some vertices are drawn far
/// more often than others. The reverse of each relation is one too. Label of a paper = its class. Papers
/// have the centre of their class and unit noise as features, others the mean of their neighbours'.
Dataset generate_mag(const DatasetOptions& options);

/// R-MAT with the quadrant probabilities .57, .19, .19, .05 on the next power of two, restricted to
/// `vertices` random vertices.
///
/// Source    Chakrabarti, Zhan, Faloutsos 2004; parameters of Graph500
Dataset generate_rmat(const DatasetOptions& options);

/// Chung-Lu: both ends of every edge are drawn in proportion to the wanted degree.
///
/// Source    Chung, Lu 2002, in the fast form that draws edges instead of testing pairs
Dataset generate_chung_lu(const DatasetOptions& options);

/// Block two-level Erdős–Rényi: dense affinity blocks of vertices of like degree give the
/// clustering coefficients, Chung-Lu on the remaining degrees gives the degrees.
///
/// Source    Seshadhri, Kolda, Pinar 2012; Kolda, Pinar, Plantenga, Seshadhri 2014
/// Departs   blocks are drawn pair by pair instead of with replacement; vertices of degree 1 are
///           drawn like the others instead of being over-provisioned
Dataset generate_bter(const DatasetOptions& options);

/// Why this machine's memory does not hold a graph of so many vertices and undirected edges while it
/// is made; nothing if it may.
std::optional<std::string> why_too_large(std::int64_t vertices, std::int64_t edges);

/// Vertices of one wanted degree, and the clustering coefficient they should have.
struct DegreeClass {
  std::int64_t degree = 0, vertices = 0;
  double clustering = 0;
};

/// Why `generator` would ignore a key of "dataset" ("mixing", "degree_file", ...) that the user
/// gave, as the rest of the sentence that the key begins; nothing if it honours the key.
/// `with_degree_file`: the user gave a degree file, too.
std::optional<std::string> why_ignored(std::string_view key, std::string_view generator,
                                       bool with_degree_file);

/// The wanted degrees, ascending: from `degree_file` ("degree count [clustering]" per line), or a
/// power law with `exponent` whose mean is 2·edges / vertices, cut off at the degree above which
/// more than one edge between two vertices would be expected. Without a clustering column the
/// coefficient of degree d is clustering·sqrt(2/d).
///
/// Errors    ConfigError (the law cannot have this mean; `vertices` or `edges` contradict the file)
///           DataError (malformed file)
std::vector<DegreeClass> degree_classes(const DatasetOptions& options);

/// A pseudo-random renumbering of {0, ..., n-1} that is computed, not stored.
class Scramble {
 public:
  Scramble(std::int64_t n, std::uint64_t seed);
  Vertex operator()(std::int64_t v) const;

 private:
  std::uint64_t n_, mask_;
  unsigned shift_;
  std::array<std::uint64_t, 3> factor_{}, offset_{};
};

/// Draws one edge from its own sequence of random numbers; nothing if the draw must be discarded.
using DrawEdge = std::function<std::optional<Edge>(Sequence&)>;

/// The edge between u and v as it is drawn: from the smaller to the larger.
inline Edge ascending(Vertex u, Vertex v) { return u < v ? Edge{u, v} : Edge{v, u}; }

/// An undirected graph of `edges` distinct edges: `fixed` (ascending), then draws, repeated for
/// duplicates and self-loops until at most 0.1 % are missing.
///
/// Errors    ConfigError if a tenth of the edges cannot be found (the graph has no room for them)
Csr draw_undirected(std::int64_t vertices, std::int64_t edges, std::uint64_t seed,
                    std::vector<std::vector<Edge>>&& fixed, const DrawEdge& draw);

/// Completes a generated graph whose generator has no classes: random features, and as label of v
/// the column (below `classes`) whose features are largest on average over v and its neighbours. A
/// graph network can learn that exactly, a network without the graph cannot.
///
/// Errors    ConfigError if there are more classes than features
void add_taught_labels(Dataset& dataset, const DatasetOptions& options);

/// Notes what was generated, with the number of edges asked for and obtained.
Dataset generated_dataset(Csr graph, const DatasetOptions& options, std::int64_t edges);

}  // namespace orrery
