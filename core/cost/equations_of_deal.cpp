// Deal's equations with an example: 100 million vertices of 20 neighbours, rows of 128, on 4 x 2
// machines.
#include "core/cost/deal.hpp"
#include "core/cost/equations.hpp"

namespace orrery::cost {
namespace {

constexpr std::string_view kDeal = "deal";

std::vector<Term> of(const SpmmWords& words) {
  return {{"graph", "received", words.graph, "words"},
          {"features", "received", words.features, "words"},
          {"partials", "received", words.partials, "words"},
          {"total", "received", words.total(), "words"}};
}
std::vector<Term> of(const SddmmWords& words) {
  return {{"features", "received", words.features, "words"},
          {"results", "received", words.results, "words"},
          {"total", "received", words.total(), "words"}};
}
std::vector<Term> received(double words) { return {{"words", "received", words, "words"}}; }
std::vector<Term> held(double words) { return {{"words", "held", words, "words"}}; }

}  // namespace

std::vector<Equation> equations_of_deal() {
  const DealSetting s{100e6, 128, 20, 4, 2};
  const double out = 128, remote = 3, local = 3, rows = 4, wide = 4;
  const Term n{"N", "vertices", s.nodes, ""}, d{"D", "width", s.width, ""},
      d2{"D'", "width of the result", out, ""},
      z{"Z", "entries of a column of A", s.nonzeros_per_column, ""},
      p{"P", "parts of the rows", s.row_parts, ""},
      m{"M", "parts of the width", s.feature_parts, ""},
      u{"u", "share of the columns that a part needs",
        needed_share(s.nonzeros_per_column, s.row_parts), ""};

  return {
      {"gemm_reduce_received_words",
       kDeal,
       "Deal Table 1, row SOTA",
       "H W by adding up: received",
       "(M - 1) N D'/(P M)",
       {n, d2, p, m},
       received(gemm_reduce_received_words(s, out))},
      {"gemm_reduce_held_words",
       kDeal,
       "Deal Table 1, row SOTA",
       "H W by adding up: held",
       "N D'/P",
       {n, d2, p},
       held(gemm_reduce_held_words(s, out))},
      {"gemm_rotate_received_words",
       kDeal,
       "Deal Table 1, row Ours",
       "H W by turning columns into rows: received",
       "(M - 1) N (D + D')/(P M^2)",
       {n, d, d2, p, m},
       received(gemm_rotate_received_words(s, out))},
      {"gemm_rotate_held_words",
       kDeal,
       "Deal Table 1, row Ours",
       "H W by turning columns into rows: held",
       "N D'/(P M)",
       {n, d2, p, m},
       held(gemm_rotate_held_words(s, out))},
      {"needed_share",
       kDeal,
       "Deal 3.3 (unique columns), derived",
       "Columns of A that a part needs, random entries",
       "u = 1 - (1 - 1/P)^Z",
       {z, p},
       {{"u", "share", needed_share(s.nonzeros_per_column, s.row_parts), ""}}},
      {"spmm_fetch_words",
       kDeal,
       "Deal Table 2, row Ours",
       "A H by asking for needed rows",
       "graph = (P - 1) (N/P) u, features = graph D/M",
       {n, d, p, m, u},
       of(spmm_fetch_words(s))},
      {"spmm_exchange_words",
       kDeal,
       "Deal Table 2, row Exchange G",
       "A H by sending the graph to the features",
       "graph = 2 (P - 1) N Z/P^2, partials = (P - 1) (N/P) D/M",
       {n, d, z, p, m},
       of(spmm_exchange_words(s))},
      {"spmm_2d_words",
       kDeal,
       "Deal Table 2, row 2D-based",
       "A H with A cut into tiles",
       "graph = N u (1 - 1/(P M)), features = graph D/M, partials = (M - 1) N D/(P M)",
       {n, d, p, m, u},
       of(spmm_2d_words(s))},
      {"sddmm_input_words",
       kDeal,
       "Deal 3.4, the example of Figure 10",
       "What a machine needs of H for some rows of A o (H H^T)",
       "remote D + (local + rows) (D - D/M)",
       {{"remote", "vertices of other parts", remote, ""},
        {"local", "sources of its own", local, ""},
        {"rows", "rows that it computes", rows, ""},
        {"D", "width", wide, ""},
        m},
       received(sddmm_input_words(remote, local, rows, wide, s.feature_parts))},
      {"sddmm_duplicate_words",
       kDeal,
       "Deal Table 3, approach (i)",
       "A o (H H^T), all entries on each machine of a part",
       "features of (P - 1) (N/P) u remote, (N/P) u local vertices and N/P rows",
       {n, d, p, m, u},
       of(sddmm_duplicate_words(s))},
      {"sddmm_split_words",
       kDeal,
       "Deal Table 3, approach (ii)",
       "A o (H H^T), each machine of a part a share of its rows",
       "features for N/(P M) rows, and the results of M - 1 others",
       {n, d, z, p, m},
       of(sddmm_split_words(s))},
  };
}

}  // namespace orrery::cost
