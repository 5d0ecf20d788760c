// MG-GCN's equations with an example: ogbn-products, rows of 512, on the eight GPUs of a DGX-1.
#include <array>
#include <numeric>

#include "core/cost/equations.hpp"
#include "core/cost/mggcn.hpp"

namespace orrery::cost {
namespace {

constexpr std::string_view kMggcn = "mg-gcn";

/// All links of GPU 0.
double links_of_first(const Links& links) {
  if (links.between.empty()) return links.to_switch;
  return std::accumulate(links.between.begin(), links.between.begin() + links.gpus, 0.0);
}

}  // namespace

std::vector<Equation> equations_of_mggcn() {
  const double rate = 25e9, nodes = 2449029, width = 512, element = 4, layers = 3;
  const double matrix = nodes * width * element;
  const Links real = dgx1_links(rate), assumed = dgx1_links_as_assumed(rate),
              switched = switched_links(8, 12, rate);
  const std::vector<int> all{0, 1, 2, 3, 4, 5, 6, 7};
  const std::vector<std::vector<int>> halves{{0, 1, 2, 3}, {4, 5, 6, 7}};
  const std::array<double, 4> broadcast{0.02, 0.02, 0.02, 0.02}, product{0.03, 0.01, 0.01, 0.03};
  const std::vector<double> widths{104, 512, 512, 47};
  const double link_rate = 150e9, memory_rate = 900e9, gpus = 8;

  const Term l{"l", "one link", rate, "bytes/s"}, nd{"nd", "the dense matrix", matrix, "bytes"},
      p{"P", "GPUs", gpus, ""}, n{"n", "vertices", nodes, ""},
      s{"s", "one number", element, "bytes"};
  const Term b0{"b_i", "broadcast of each of 4 stages", broadcast[0], "s"},
      s0{"s_0, s_3", "product of the first and the last stage", product[0], "s"},
      s1{"s_1, s_2", "product of the others", product[1], "s"};

  return {
      {"dgx1_links",
       kMggcn,
       "nvidia-smi topo -m of a DGX-1 (NCCL issue 671)",
       "The links of a DGX-1",
       "a matrix of links between eight GPUs",
       {l},
       {{"links", "of GPU 0", links_of_first(real), ""}}},
      {"dgx1_links_as_assumed",
       kMggcn,
       "MG-GCN 5.1",
       "The links of a DGX-1 as the paper has them",
       "four links of a GPU into its half, two to its partner",
       {l},
       {{"links", "of GPU 0", links_of_first(assumed), ""}}},
      {"switched_links",
       kMggcn,
       "MG-GCN 5.1",
       "GPUs on one switch, such as a DGX-A100",
       "as many links of each GPU to the switch",
       {p, {"k", "links of a GPU", 12, ""}, l},
       {{"links", "of GPU 0", links_of_first(switched), ""}}},
      {"broadcast_links",
       kMggcn,
       "MG-GCN 5.1 (there: links of one GPU into its group)",
       "Links at whose rate any GPU of a group sends the same to all others",
       "least number of links across a cut of the group",
       {p, l},
       {{"links", "of all eight GPUs of a DGX-1", broadcast_links(real, all), ""}}},
      {"spmm_1d_seconds",
       kMggcn,
       "MG-GCN 5.1",
       "Communication of a product under 1D",
       "T = P (nd/P)/(links l)",
       {nd, p, l, {"links", "of the group", broadcast_links(real, all), ""}},
       {{"T", "on a DGX-1", spmm_1d_seconds(real, matrix), "s"}}},
      {"spmm_15d_seconds",
       kMggcn,
       "MG-GCN 5.1",
       "Communication of a product under 1.5D",
       "T = P/c^2 (nd c/P)/(B l) + (2 (c - 1)/c) (nd c/P)/(R l)",
       {nd,
        p,
        {"c", "copies of the matrix", 2, ""},
        l,
        {"B", "links of a half", broadcast_links(assumed, halves[0]), ""},
        {"R", "links between partners", 2, ""}},
       {{"T", "on a DGX-1 as the paper assumes it", spmm_15d_seconds(assumed, matrix, halves),
         "s"}}},
      {"serial_seconds",
       kMggcn,
       "MG-GCN 4.3",
       "A product in stages, one after the other",
       "T = sum of b_i + sum of s_i",
       {b0, s0, s1},
       {{"T", "time of the product", serial_seconds(broadcast, product), "s"}}},
      {"overlapped_seconds",
       kMggcn,
       "MG-GCN 4.3",
       "A product in stages, the next broadcast beside the product",
       "T = b_0 + sum of max(b_i, s_(i-1)) + s_(P-1)",
       {b0, s0, s1},
       {{"T", "time of the product", overlapped_seconds(broadcast, product), "s"}}},
      {"overlap_slowdown",
       kMggcn,
       "MG-GCN 6.4",
       "A product beside a broadcast that uses the same memory",
       "factor = 1/(1 - link/memory)",
       {{"link", "rate of the links", link_rate, "bytes/s"},
        {"memory", "rate of the memory", memory_rate, "bytes/s"}},
       {{"factor", "on the product's time", overlap_slowdown(link_rate, memory_rate), "times"}}},
      {"buffer_bytes",
       kMggcn,
       "MG-GCN 4.2",
       "Buffers of a GPU that the layers share",
       "M = (L + 3) (n/P) d s",
       {{"L", "layers", layers, ""}, n, p, {"d", "mean width", width, ""}, s},
       {{"M", "memory", buffer_bytes(layers, nodes, gpus, width, element), "bytes"}}},
      {"buffer_bytes",
       kMggcn,
       "MG-GCN, its published code",
       "The same from the widths",
       "M = (n/P) (3 max min(d_(l-1), d_l) + sum of max(d_(l-1), d_l)) s",
       {n,
        p,
        {"d_0", "width of the input", widths[0], ""},
        {"d_1, d_2", "width of the layers", widths[1], ""},
        {"d_3", "width of the output", widths[3], ""},
        s},
       {{"M", "memory", buffer_bytes(widths, nodes, gpus, element), "bytes"}}},
  };
}

}  // namespace orrery::cost
