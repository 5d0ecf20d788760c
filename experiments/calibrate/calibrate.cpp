#include "experiments/calibrate/calibrate.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "backends/cpu/cpu.hpp"
#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "core/base/units.hpp"
#include "experiments/calibrate/time_ops.hpp"
#include "experiments/profile_file.hpp"
#include "experiments/results.hpp"
#include "experiments/shipped.hpp"

namespace orrery::calibrate {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::int64_t memory_bytes() {
  return static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGE_SIZE);
}

/// Seconds at the largest point of every axis.
double at_largest(const PriceTable& table) { return table.seconds.back(); }

/// m · n · k, or the number of elements, there.
double product_of_largest(const PriceTable& table) {
  double product = 1;
  for (const PriceTable::Axis& axis : table.axes)
    if (axis.name != "threads" && axis.name != "width" && axis.name != "ragged")
      product *= axis.points.back();
  return product;
}

/// To four digits: more is noise.
double rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

Library rounded(Library l) {
  for (double* value : {&l.collective_seconds, &l.message_seconds, &l.copy_bytes_per_second,
                        &l.core_seconds_per_byte, &l.reduce_bytes_per_second})
    *value = rounded(*value);
  return l;
}

void require_memory(int cores) {
  const std::int64_t needed = 2 * TimingOptions{}.workspace_bytes * cores;
  if (memory_bytes() < 2 * needed)
    throw Error(
        fmt::format("calibrating {} cores takes {} of memory, this machine has {}; run it "
                    "on fewer cores (taskset -c 0-3 ./orrery calibrate)",
                    cores, human_bytes(2 * needed), human_bytes(memory_bytes())));
}

/// The profile without its libraries. What lies between two operations on a lane is part of every
/// price.
DeviceProfile profile_of(const Calibration& c) {
  DeviceProfile profile;
  profile.name = kThisMachine;
  profile.origin = "measured";
  profile.source = c.machine;
  profile.issue_seconds = rounded(c.host.issue_seconds);
  profile.handover_seconds = rounded(c.host.handover_seconds);
  profile.sync_seconds = rounded(c.host.sync_seconds);
  profile.roofline.launch_seconds = rounded(c.host.lane_seconds);
  for (const auto& [key, measured] : c.tables) {
    PriceTable& table = profile.tables[key] = measured.table;
    for (double& seconds : table.seconds) seconds = rounded(seconds + c.host.lane_seconds);
    table.fit_error = rounded(table.fit_error);
  }
  return profile;
}

std::string source_of(const Calibration& c, const std::string& path) {
  const auto measured = [&](const std::string& how) { return "measured: " + how; };
  if (path.starts_with("tables.")) {
    const MeasuredTable& t = c.tables.at(path.substr(7));
    return measured(fmt::format(
        "cpu kernels on all cores, {} points and the {:.2f} us between two operations of a lane; "
        "left-out points differ by {:.1f} % on average and {:.1f} % at most; two measurements of a "
        "point by {:.1f} %",
        t.points, 1e6 * c.host.lane_seconds, 100 * t.table.fit_error, 100 * t.worst_fit_error,
        100 * t.repeat_error));
  }
  if (path.starts_with("in_place."))
    return measured(fmt::format(
        "{} such operations inside of trainings of generated graphs, one rank to a core and one on "
        "all cores, over what the table says of each",
        std::count_if(c.in_place.begin(), c.in_place.end(),
                      [&](const InPlaceSample& s) { return s.key == path.substr(9); })));
  if (path == "launch_seconds") return measured("median gap between two operations of a lane");
  if (path == "issue_seconds")
    return measured("median of submits to an Executor whose lane is busy");
  if (path == "handover_seconds")
    return measured("median from the end of an operation to one on a lane that waited for it");
  if (path == "sync_seconds") return measured("median until a host that waited goes on");
  if (path == "communication_slowdown")
    return "assumption: 1, as cores that copy messages are counted as busy; what they take of the "
           "memory's rate is in none of these numbers";
  const bool mpi = path.starts_with("libraries.mpi");
  const std::string who = mpi ? "two processes" : "ranks that are threads";
  if (path.ends_with("collective_seconds")) return measured("a collective of 4 bytes, of " + who);
  if (path.ends_with("message_seconds"))
    return mpi ? measured("an all-reduce of 4 bytes less an exchange of 4 bytes: one more message")
               : "0: barriers are counted in collective_seconds";
  if (path.ends_with("copy_bytes_per_second"))
    return measured("an exchange of 4 MiB of " + who + ", both receiving");
  if (path.ends_with("core_seconds_per_byte"))
    return measured("a broadcast of 4 MiB over TCP inside this machine, each end on a core");
  return measured("an all-reduce of 4 MiB of " + who + " less its copies");
}

void write_whole(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  write_file(path, text);
}

}  // namespace

Calibration calibrate(Effort effort, const std::string& probe, const Report& report) {
  const auto begin = std::chrono::steady_clock::now();
  const bool thorough = effort != Effort::tiny;
  Calibration c;
  c.cores = available_cores();
  if (thorough) require_memory(c.cores);
  const Json origin = provenance();
  c.machine = fmt::format("measured on {} on {}, {} core{}, kernels {}, compiled by {}{}",
                          origin["date"].get<std::string>().substr(0, 10),
                          origin["cpu"].get<std::string>(), c.cores, c.cores == 1 ? "" : "s",
                          cpu_kernels_description(), origin["compiler"].get<std::string>(),
                          effort == Effort::full ? "" : "; a coarse grid");
  report(0, "host and lanes");
  c.host = measure_host(c.cores, thorough ? 100 : 10);
  report(0.01, "ranks that are threads");
  const Library threads = measure_threads(c.cores, thorough);
  report(0.02, "ranks over MPI");
  c.mpi = measure_mpi(probe, thorough);
  c.tables = measure_tables(effort, c.cores, [&](double share, const std::string& what) {
    report(0.05 + 0.85 * share, what);
  });
  c.profile = profile_of(c);
  c.in_place = measure_in_place(
      effort, c.profile, c.cores,
      [&](double share, const std::string& what) { report(0.9 + 0.1 * share, what); });
  c.profile.in_place = fit_in_place(c.in_place);
  for (auto& [key, table] : c.profile.in_place)
    for (double& factor : table.seconds) factor = rounded(factor);
  c.profile.libraries["threads"] = rounded(threads);
  if (c.mpi.library) c.profile.libraries["mpi"] = rounded(*c.mpi.library);
  const PriceTable& gemm = c.tables.at("gemm").table;
  c.flops_per_second = rounded(2 * product_of_largest(gemm) / at_largest(gemm));
  const PriceTable& relu = c.tables.at("activate_backward").table;
  c.memory_bytes_per_second = rounded(12 * product_of_largest(relu) / at_largest(relu));
  c.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return c;
}

Json profile_file_of(const Calibration& c) {
  const std::string description =
      "The machine that `orrery calibrate` ran on: all of its cores are one device, which ranks "
      "share." +
      (c.mpi.note.empty() ? "" : " " + c.mpi.note + ".");
  return profile_json(c.profile, description,
                      [&](const std::string& path) { return source_of(c, path); });
}

Json cluster_file_of(const Calibration& c) {
  const auto number = [](const auto& value, const std::string& source) {
    return Json{{"value", value}, {"source", source}};
  };
  const bool tcp = c.mpi.tcp_bytes_per_second > 0;
  Json link;
  if (tcp)
    link = {{"bytes_per_second", number(rounded(c.mpi.tcp_bytes_per_second),
                                        "measured: a broadcast of 4 MiB over TCP")},
            {"latency_seconds", number(rounded(c.mpi.tcp_latency_seconds),
                                       "measured: 4 bytes over TCP less 4 bytes through memory")}};
  else
    link = {{"bytes_per_second",
             number(c.profile.libraries.at("threads").copy_bytes_per_second,
                    "measured: ranks that are threads copy 4 MiB; nothing uses this link")},
            {"latency_seconds", number(0, "none: nothing uses this link")}};
  return {
      {"name", kThisMachine},
      {"description", "This machine, " + c.machine + ". One CPU that all ranks share."},
      {"servers", number(1, "this machine")},
      {"device_types",
       {{kThisMachine,
         {{"profile", kThisMachine},
          {"memory_bytes", number(memory_bytes(), "this machine's main memory")},
          {"memory_bytes_per_second",
           number(c.memory_bytes_per_second, "measured: relu backward on 16 MiB operands")},
          {"flops_per_second", number(c.flops_per_second, "measured: the largest dense product")},
          {"cores", number(c.cores, "cores that this process may use")}}}}},
      {"link_types", {{tcp ? "tcp-inside" : "memory", link}}},
      {"server",
       {{"source", "this machine"},
        {"host_memory_bytes", number(memory_bytes(), "this machine's main memory")},
        {"nodes", {{"cpu", kThisMachine}}},
        {"links", Json::array()}}}};
}

Written write(const Calibration& c, const std::string& folder) {
  const fs::path name = std::string(kThisMachine) + ".json";
  const fs::path profile = fs::path(folder) / "devices" / name,
                 cluster = fs::path(folder) / "clusters" / name;
  write_whole(profile, pretty(profile_file_of(c)));
  write_whole(cluster, pretty(cluster_file_of(c)));
  return {fs::absolute(profile).string(), fs::absolute(cluster).string()};
}

}  // namespace orrery::calibrate
