// GraNNDis' equations with an example: ogbn-products on four servers of four GPUs.
#include "core/cost/equations.hpp"
#include "core/cost/granndis.hpp"

namespace orrery::cost {
namespace {

constexpr std::string_view kGranndis = "granndis";

double truth(bool holds) { return holds ? 1 : 0; }

}  // namespace

std::vector<Equation> equations_of_granndis() {
  const double link = 1e9, width = 64, element = 4, inside = 20e9;
  GranndisRun run{2449029, 123718280, 4, 4, 50e6, 0, 0};
  run.internal_vertices_per_second = vertices_per_second(inside, width, element);
  run.external_vertices_per_second = vertices_per_second(link, width, element);
  const double per_layer = 1.5, layers = 3, gpus = run.servers * run.gpus_per_server;
  const double fanout = 15, hops = 1, alpha = 0.2, degree = run.edges / run.vertices;
  const double growth = dependency_growth(per_layer, layers, gpus),
               sampled = sampled_growth(fanout, hops, alpha, gpus);

  const Term v{"V", "vertices", run.vertices, ""}, e{"E", "edges", run.edges, ""},
      ns{"Ns", "servers", run.servers, ""}, ng{"Ng", "GPUs of a server", run.gpus_per_server, ""},
      c{"C", "vertices that a GPU computes", run.compute_vertices_per_second, "1/s"},
      b_in{"B_internal", "vertices that come from GPUs of the server",
           run.internal_vertices_per_second, "1/s"},
      b_ex{"B_external", "vertices that come from other servers", run.external_vertices_per_second,
           "1/s"},
      g{"g", "vertices computed for each owned one", growth, ""},
      gs{"g", "vertices computed for each owned one, sampled", sampled, ""},
      m{"m", "fanout", fanout, ""}, k{"k", "hops", hops, ""},
      a{"alpha", "exponent of the growth", alpha, ""}, w{"H", "width of a vertex", width, ""},
      el{"s", "one number", element, "bytes"}, l{"L", "layers", layers, ""};
  const Term a1{"a1", "vertices that a server holds for each owned one", 1.4, ""},
      n{"n", "growth of a1", 1.1, "times"}, more{"m", "growth of the servers", 2, "times"};

  return {
      {"vertices_per_second",
       kGranndis,
       "GraNNDis 4.1, text above Eq. 3",
       "Vertices that a link moves in a second",
       "B = rate / (H s)",
       {{"rate", "of the link", link, "bytes/s"}, w, el},
       {{"B", "vertices", vertices_per_second(link, width, element), "1/s"}}},
      {"previous_seconds",
       kGranndis,
       "GraNNDis Eq. 3",
       "An epoch that exchanges every dependency",
       "T = V/(Ns Ng C) + E/(Ns Ng) [((Ng - 1)/(Ng Ns))/B_internal + (1 - 1/Ns)/B_external]",
       {v, e, ns, ng, c, b_in, b_ex},
       {{"T", "time of an epoch", previous_seconds(run), "s"}}},
      {"dependency_growth",
       kGranndis,
       "GraNNDis, text above Eq. 4, and Eq. 5",
       "What a server computes for each vertex of its own",
       "g = D^alpha L",
       {{"D^alpha", "growth by a layer", per_layer, ""}, l},
       {{"g", "vertices computed for each owned one", growth, ""}}},
      {"preload_condition_holds",
       kGranndis,
       "GraNNDis Eq. 5",
       "When preloading is modelled",
       "1 < g <= Ns Ng",
       {g, ns, ng},
       {{"holds", "1: yes",
         truth(preload_condition_holds(growth, run.servers, run.gpus_per_server)), ""}}},
      {"preload_seconds",
       kGranndis,
       "GraNNDis Eq. 4",
       "An epoch with shared preloading",
       "T = V g/(Ns Ng C) + E g/(Ns Ng) ((Ng - 1)/Ng)/B_internal",
       {v, e, ns, ng, c, b_in, g},
       {{"T", "time of an epoch", preload_seconds(run, growth), "s"}}},
      {"preload_extra_seconds",
       kGranndis,
       "GraNNDis Eq. 6",
       "What preloading adds, roughly",
       "dT = V g/(Ns Ng C) - V/(Ns Ng C) - E/(Ns Ng)/B_external",
       {v, e, ns, ng, c, b_ex, g},
       {{"dT", "time that is added; negative where it wins", preload_extra_seconds(run, growth),
         "s"}}},
      {"preload_break_even",
       kGranndis,
       "GraNNDis Eq. 7",
       "From where on preloading wins",
       "C/B_external > (g - 1)/D",
       {g, {"D", "edges of a vertex, on average", degree, ""}},
       {{"ratio", "of C and B_external", preload_break_even(growth, degree), ""}}},
      {"sampled_growth",
       kGranndis,
       "GraNNDis Eq. 8, its factor",
       "What a server computes for each vertex of its own, sampled",
       "g = m^alpha k",
       {m, k, a},
       {{"g", "vertices computed for each owned one", sampled, ""}}},
      {"sampling_condition_holds",
       kGranndis,
       "GraNNDis Eq. 9",
       "When sampling is modelled",
       "1 < g sampled < g <= Ns Ng",
       {gs, g, ns, ng},
       {{"holds", "1: yes",
         truth(sampling_condition_holds(sampled, growth, run.servers, run.gpus_per_server)), ""}}},
      {"sampling_seconds",
       kGranndis,
       "GraNNDis Eq. 8, with the factor of Eq. 4",
       "An epoch with shared preloading and sampling",
       "T = V g/(Ns Ng C) + E g/(Ns Ng) ((Ng - 1)/Ng)/B_internal",
       {v, e, ns, ng, c, b_in, gs},
       {{"T", "time of an epoch", sampling_seconds(run, sampled, InternalFactor::as_preload),
         "s"}}},
      {"sampled_memory_bytes",
       kGranndis,
       "GraNNDis, PACT 2024, Eq. 12 to 14",
       "Activations of a GPU under sampling",
       "M = 2 V H L a1/(Ns Ng) s",
       {v, w, l, a1, ns, ng, el},
       {{"M", "memory",
         sampled_memory_bytes(run.vertices, width, layers, a1.value, run.servers,
                              run.gpus_per_server, element),
         "bytes"}}},
      {"sampled_memory_ratio",
       kGranndis,
       "GraNNDis, PACT 2024, Eq. 12 to 14",
       "Memory of a GPU after servers were added",
       "M2/M1 = n/m",
       {n, more},
       {{"ratio", "of memory", sampled_memory_ratio(n.value, more.value), ""}}},
  };
}

}  // namespace orrery::cost
