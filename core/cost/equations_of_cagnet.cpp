// CAGNET's equations with an example: ogbn-products, rows of 64, on 64 processes.
#include "core/cost/cagnet.hpp"
#include "core/cost/equations.hpp"

namespace orrery::cost {
namespace {

constexpr std::string_view kCagnet = "cagnet";

std::vector<Term> of(const Traffic& traffic) {
  return {{"words", "received by a process", traffic.words, "words"},
          {"messages", "one after the other", traffic.messages, ""}};
}

}  // namespace

std::vector<Equation> equations_of_cagnet() {
  const Product product{2449029, 64, 126167309};
  const double processes = 64, copies = 4, layers = 3, remote = 250000;
  const double alpha = 10e-6, beta = 4 / 10e9;
  const Traffic rows = spmm_1d_traffic(product, processes);

  const Term n{"n", "vertices", product.vertices, ""}, f{"f", "width", product.width, ""},
      nnz{"nnz", "entries of A", product.nonzeros, ""}, p{"P", "processes", processes, ""},
      c{"c", "copies", copies, ""}, l{"L", "layers", layers, ""},
      r{"r", "rows of others that a process needs", remote, ""};

  return {
      {"traffic_seconds",
       kCagnet,
       "CAGNET, its alpha-beta model",
       "Time of a step",
       "T = alpha messages + beta words",
       {{"messages", "of 1D", rows.messages, ""},
        {"words", "of 1D", rows.words, "words"},
        {"alpha", "a message", alpha, "s"},
        {"beta", "a word", beta, "s"}},
       {{"T", "time", traffic_seconds(rows, alpha, beta), "s"}}},
      {"spmm_1d_traffic",
       kCagnet,
       "CAGNET, 1D",
       "A product under 1D",
       "words = n f (P - 1)/P, messages = P lg P",
       {n, f, p},
       of(rows)},
      {"spmm_1d_sparse_traffic",
       kCagnet,
       "CAGNET, 1D with the edge cut",
       "A product under 1D that sends needed rows only",
       "words = r f, messages = P - 1",
       {r, f, p},
       of(spmm_1d_sparse_traffic(product, remote, processes))},
      {"spmm_15d_traffic",
       kCagnet,
       "CAGNET, 1.5D",
       "A product under 1.5D",
       "words = n f/c - n f/P + 2 (c - 1) n f/P, messages = P/c^2 lg(P/c) + 2 (c - 1)",
       {n, f, p, c},
       of(spmm_15d_traffic(product, processes, copies))},
      {"best_replication",
       kCagnet,
       "CAGNET, 1.5D",
       "Copies for which 1.5D moves least",
       "c = sqrt(P/2)",
       {p},
       {{"c", "copies", best_replication(processes), ""}}},
      {"spmm_2d_traffic",
       kCagnet,
       "CAGNET, 2D",
       "A product under 2D",
       "words = (sqrt P - 1) (nnz + n f)/P, messages = 2 sqrt P lg sqrt P",
       {n, f, nnz, p},
       of(spmm_2d_traffic(product, processes))},
      {"gemm_2d_traffic",
       kCagnet,
       "CAGNET, 2D",
       "The product with W that follows in 2D",
       "words = (sqrt P - 1) n f/P, messages = sqrt P lg sqrt P",
       {n, f, p},
       of(gemm_2d_traffic(product, processes))},
      {"spmm_3d_traffic",
       kCagnet,
       "CAGNET, 3D",
       "A product under 3D, q = cube root of P",
       "words = (q - 1) (nnz + 2 n f)/P, messages = 2 q lg q + q - 1",
       {n, f, nnz, p},
       of(spmm_3d_traffic(product, processes))},
      {"held_words_1d",
       kCagnet,
       "CAGNET, 1D and 2D",
       "The largest block of a process, 1D and 2D",
       "n f/P",
       {n, f, p},
       {{"words", "held", held_words_1d(product, processes), "words"}}},
      {"held_words_15d",
       kCagnet,
       "CAGNET, 1.5D",
       "The largest block of a process, 1.5D",
       "c n f/P",
       {n, f, p, c},
       {{"words", "held", held_words_15d(product, processes, copies), "words"}}},
      {"held_words_3d",
       kCagnet,
       "CAGNET, 3D",
       "The largest block of a process, 3D",
       "n f/P^(2/3)",
       {n, f, p},
       {{"words", "held", held_words_3d(product, processes), "words"}}},
      {"epoch_1d_traffic",
       kCagnet,
       "CAGNET, total for 1D",
       "An epoch of equal layers under 1D",
       "words = L (r f + n f + f^2), messages = L 3 lg P",
       {l, r, n, f, p},
       of(epoch_1d_traffic(product, layers, remote, processes))},
      {"epoch_15d_traffic",
       kCagnet,
       "CAGNET, 1.5D, after its code",
       "An epoch of equal layers under 1.5D, q = P/c",
       "L (2 products + 2 f^2 (q - 1)/q words and 2 (q - 1) messages)",
       {l, n, f, p, c},
       of(epoch_15d_traffic(product, layers, processes, copies))},
      {"epoch_2d_traffic",
       kCagnet,
       "CAGNET, total for 2D",
       "An epoch of equal layers under 2D",
       "words = L ((8 n f + 2 nnz)/sqrt P + f^2), messages = L (5 sqrt P + 3 lg P)",
       {l, n, f, nnz, p},
       of(epoch_2d_traffic(product, layers, processes))},
      {"epoch_3d_traffic",
       kCagnet,
       "CAGNET, total for 3D",
       "An epoch of equal layers under 3D",
       "words = L (2 nnz + 12 n f)/P^(2/3), messages = L 4 P^(1/3)",
       {l, n, f, nnz, p},
       of(epoch_3d_traffic(product, layers, processes))},
  };
}

}  // namespace orrery::cost
