#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "core/base/units.hpp"
#include "experiments/calibrate/calibration.hpp"
#include "experiments/config/profile_file.hpp"
#include "experiments/results/results.hpp"

namespace orrery::calibrate {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kHostLink = "host-link";
constexpr const char* kRooms[] = {"devices", "clusters"};

/// Errors    DataError: it cannot be made or written to
void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error && ::access(path.c_str(), W_OK) != 0)
    error = std::error_code(errno, std::generic_category());
  if (error) throw DataError(path.string(), "", "cannot be written to: " + error.message());
}

std::string measured(const std::string& how) { return "measured: " + how; }

std::string source_of_table(const Calibration& c, const MeasuredTable& t) {
  const std::string how =
      c.gpu ? fmt::format(
                  "rounds of calls on one stream, {} points; they include the gaps between two "
                  "calls",
                  t.points)
            : fmt::format(
                  "cpu kernels on all cores, {} points and the {:.2f} us between two "
                  "operations of a lane",
                  t.points, 1e6 * c.host.lane_seconds);
  return measured(
      fmt::format("{}; left-out points differ by {:.1f} % on average and {:.1f} % at most; {}", how,
                  100 * t.table.fit_error, 100 * t.worst_fit_error,
                  t.repeat_error > 0
                      ? fmt::format("two measurements of a point by {:.1f} %", 100 * t.repeat_error)
                      : std::string("each point was measured once")));
}

std::string source_of_library(const Calibration& c, const std::string& path) {
  const bool mpi = path.starts_with("libraries.mpi");
  const std::string who = mpi     ? "two processes"
                          : c.gpu ? "two ranks that are threads and share the GPU"
                                  : "ranks that are threads";
  const std::string bytes = c.gpu ? "256 KiB to 64 MiB" : "16 KiB to 4 MiB";
  if (path.ends_with("collective_seconds")) return measured("a collective of 4 bytes, of " + who);
  if (path.ends_with("message_seconds"))
    return mpi ? measured("an all-reduce of 4 bytes less an exchange of 4 bytes: one more message")
               : "0: barriers are counted in collective_seconds";
  if (path.ends_with("copy_bytes_per_second"))
    return measured(fmt::format("exchanges of {} of {}, both receiving{}", bytes, who,
                                c.gpu ? ", what both receive together" : ""));
  if (path.ends_with("core_seconds_per_byte"))
    return measured("a broadcast of 4 MiB over TCP inside this machine, each end on a core");
  return measured(fmt::format("all-reduces of {} of {} less their copies{}", bytes, who,
                              c.gpu ? ", what both add together" : ""));
}

std::string source_of_slowdown(const Calibration& c) {
  if (!c.gpu)
    return "assumption: 1, as cores that copy messages are counted as busy; what they take of the "
           "memory's rate is in none of these numbers";
  const Slowdowns& slowdowns = c.gpu->slowdowns;
  if (!slowdowns.by_link)
    return "assumption: 1, as no kernel that was measured lay beside a copy from the host";
  return measured(
      "relu backward beside a copy from pinned host memory, which comes over a link, over the same "
      "alone" +
      (slowdowns.by_copy
           ? fmt::format("; beside a copy inside the GPU's memory it takes {:.2f} times as long, "
                         "where a simulation of ranks that share the GPU has 2",
                         *slowdowns.by_copy)
           : std::string()));
}

std::string source_of(const Calibration& c, const std::string& path) {
  if (path.starts_with("tables.")) return source_of_table(c, c.tables.at(path.substr(7)));
  if (path == "errors.operations")
    return measured(
        "all operations of a training by factors from the other trainings, over their seconds in "
        "it");
  if (path.starts_with("errors.kinds."))
    return measured("the same of one kind, over what all operations are off by");
  if (path.starts_with("errors.libraries."))
    return measured(
        fmt::format("exchanges and all-reduces of {}, by prices that come from other sizes",
                    c.gpu ? "1 and 8 MiB" : "64 and 512 KiB"));
  for (const auto& [where, operands, who] :
       {std::tuple("in_place.", sim::Operands::of_graph,
                   c.gpu ? "one rank" : "one rank to a core and one on all cores"),
        std::tuple("in_batches.", sim::Operands::of_batches, "one rank on sampled batches")})
    if (path.starts_with(where))
      return measured(fmt::format(
          "{} such operations inside of trainings of generated graphs, {}, over what the table "
          "says of each",
          std::ranges::count_if(c.in_place,
                                [&, key = path.substr(path.find('.') + 1)](const InPlaceSample& s) {
                                  return s.operands == operands && s.key == key;
                                }),
          who));
  if (path.starts_with("host.kinds.checkpoint"))
    return measured("a small and a large checkpoint, written to the folder of temporary files");
  if (path.starts_with("host.kinds.write_rows"))
    return measured(
        "a small and a large array, written to new files in the folder of temporary files, up to "
        "the "
        "page cache");
  if (path.starts_with("host.kinds.serve"))
    return path.ends_with("launch_seconds")
               ? "0: what a message takes is the library's"
               : measured("one thread copies rows of 64 B and of 1 KiB from random places");
  if (path.starts_with("host.kinds.scan"))
    return measured(
        "one thread looks for the edges among a sixteenth of the vertices, in a large generated "
        "graph and "
        "in a small one");
  if (path.starts_with("host.kinds.pairs"))
    return measured(
        "one thread draws a negative for each of 1000 links and finds the rows of their ends, in a "
        "large generated graph and in a small one");
  if (path.starts_with("host.kinds.sample_relation_vertices"))
    return measured(
        "one thread draws batches of one seed and of 1000 between vertices and groups their edges "
        "by relation; a device would relabel and transpose them; fanouts 15, 25 of each relation, "
        "in a large generated graph with types and in a small one");
  if (path.starts_with("host.kinds.sample_relations"))
    return measured(
        "one thread draws batches of one seed and of 1000 and groups their edges by relation, "
        "fanouts 15, 25 of each relation, in a large generated graph with types and in a small "
        "one");
  if (path.starts_with("host.kinds.sample_vertices"))
    return measured(
        "one thread draws batches of one seed and of 1000 between vertices, which a device would "
        "relabel and transpose, fanouts 15, 10, 5, in a large generated graph and in a small one");
  if (path.starts_with("host.kinds.sample"))
    return measured(
        "one thread draws and cuts batches of one seed and of 1000, fanouts 15, 10, 5, in a "
        "large generated graph and in a small one");
  if (path == "launch_seconds") return measured("median gap between two operations of a lane");
  if (path == "issue_seconds")
    return measured(c.gpu ? "median time from one small operation to the next on a lane that has "
                            "nothing else to do"
                          : "median of submits to an Executor whose lane is busy");
  if (path == "handover_seconds")
    return measured("median from the end of an operation to one on a lane that waited for it");
  if (path == "sync_seconds" && c.gpu && c.host.sync_seconds == 0)
    return "0: what a submit and the wait for it take is in issue_seconds and handover_seconds";
  if (path == "sync_seconds")
    return measured(c.gpu ? "median of a submit and the wait for it, less the operation, "
                            "issue_seconds and handover_seconds"
                          : "median until a host that waited goes on");
  if (path == "communication_slowdown") return source_of_slowdown(c);
  if (path == "variation")
    return measured(
        "equal trainings of two ranks at the same time: how their ratio changes over epochs, in "
        "stretches of an eighth of one, for an operation");
  if (path == "turn_seconds")
    return measured("two threads for each core: median time until one loses its core to another");
  return source_of_library(c, path);
}

Json number(const auto& value, const std::string& source) {
  return Json{{"value", value}, {"source", source}};
}

/// The only link, which must exist: from a GPU to its host, else between processes by TCP, else one
/// that nothing uses.
Json link_types_of(const Calibration& c) {
  if (c.gpu)
    return {{kHostLink,
             {{"bytes_per_second", number(rounded(c.gpu->slowdowns.link_bytes_per_second),
                                          measured("copies of 256 MiB from pinned host memory"))},
              {"latency_seconds", number(0, "none: no message uses this link")}}}};
  if (c.mpi.tcp_bytes_per_second > 0)
    return {{"tcp-inside",
             {{"bytes_per_second", number(rounded(c.mpi.tcp_bytes_per_second),
                                          "measured: a broadcast of 4 MiB over TCP")},
              {"latency_seconds", number(rounded(c.mpi.tcp_latency_seconds),
                                         "measured: 4 bytes over TCP less 4 bytes through "
                                         "memory")}}}};
  return {{"memory",
           {{"bytes_per_second",
             number(c.profile.libraries.at("threads").copy_bytes_per_second.of_largest(),
                    "measured: ranks that are threads copy 4 MiB; nothing uses this link")},
            {"latency_seconds", number(0, "none: nothing uses this link")}}}};
}

/// The parts of the server.
Json nodes_of(const Calibration& c) {
  return c.gpu ? Json{{"gpu", c.name}, {"cpu", "host"}} : Json{{"cpu", c.name}};
}
Json links_of(const Calibration& c) {
  Json links = Json::array();
  if (c.gpu) links.push_back({{"type", kHostLink}, {"from", "gpu"}, {"to", "cpu"}});
  return links;
}

/// A GPU has a host beside it; a CPU's device describes all of its own.
Json server_of(const Calibration& c) {
  Json server{{"source", "this machine"},
              {"host_memory_bytes", number(main_memory_bytes(), "this machine's main memory")}};
  if (c.gpu) {
    server["host_cores"] = number(c.host_cores, "cores that this process may use");
    server["host_memory_bytes_per_second"] =
        number(rounded(c.tasks.memory_bytes_per_second),
               measured("all cores copy a table from one place in main memory to another"));
  }
  server["nodes"] = nodes_of(c);
  server["links"] = links_of(c);
  return server;
}

std::string elements_of_relu(const Calibration& c) {
  const auto& axes = c.tables.at("activate_backward").table.axes;
  const auto size = std::find_if(axes.begin(), axes.end(), [](const sim::PriceTable::Axis& axis) {
    return axis.name == "size";
  });
  return human_bytes(4 * size->points.back());
}

Json device_type_of(const Calibration& c) {
  return {
      {"profile", c.name},
      {"memory_bytes",
       number(c.memory_bytes, c.gpu ? "the GPU's memory" : "this machine's main memory")},
      {"memory_bytes_per_second",
       number(c.memory_bytes_per_second,
              measured(fmt::format("relu backward on {} operands",
                                   c.gpu ? elements_of_relu(c) : std::string("16 MiB"))))},
      {"flops_per_second", number(c.flops_per_second, measured("the largest dense product"))},
      {"cores", number(c.cores, c.gpu ? "one, which ranks share: kernels of n ranks at the same "
                                        "time take n times as long"
                                      : "cores that this process may use")}};
}

}  // namespace

Json profile_file_of(const Calibration& c) {
  const std::string what =
      c.gpu
          ? fmt::format("The {} that `orrery calibrate --kernels cuda` ran on, which ranks share.",
                        c.gpu->product)
          : std::string(
                "The machine that `orrery calibrate` ran on: all of its cores are one "
                "device, which ranks share.");
  const std::string description = what + (c.mpi.note.empty() ? "" : " " + c.mpi.note + ".");
  const SourceOf source = [&](const std::string& path) { return source_of(c, path); };
  Json file = profile_json(c.profile, description, source);
  if (c.errors.known()) file["errors"] = price_errors_json(c.errors, source);
  return file;
}

Json cluster_file_of(const Calibration& c) {
  const std::string what = c.gpu ? "A server with one GPU that all ranks share, " + c.machine + "."
                                 : "This machine, " + c.machine + ". One CPU that all ranks share.";
  return {{"name", c.name},
          {"description", what},
          {"servers", number(1, "this machine")},
          {"device_types", {{c.name, device_type_of(c)}}},
          {"link_types", link_types_of(c)},
          {"server", server_of(c)}};
}

void require_place_for_files(const std::string& folder) {
  for (const char* room : kRooms) {
    const fs::path path = (fs::absolute(folder) / room).lexically_normal();
    std::vector<fs::path> made;  // the lowest first
    for (fs::path above = path; !fs::exists(above) && above.has_relative_path();
         above = above.parent_path())
      made.push_back(above);
    make_folder(path);
    std::error_code ignored;
    for (const fs::path& own : made) fs::remove(own, ignored);
  }
}

Written write(const Calibration& c, const std::string& folder) {
  const fs::path name = c.name + ".json";
  const fs::path profile = fs::path(folder) / "devices" / name,
                 cluster = fs::path(folder) / "clusters" / name;
  for (const char* room : kRooms) make_folder(fs::path(folder) / room);
  write_file(profile, pretty(profile_file_of(c)));
  write_file(cluster, pretty(cluster_file_of(c)));
  return {fs::absolute(profile).string(), fs::absolute(cluster).string()};
}

}  // namespace orrery::calibrate
