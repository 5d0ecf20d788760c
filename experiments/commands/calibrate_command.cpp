#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/terminal/activity.hpp"
#include "core/terminal/tell.hpp"
#include "core/terminal/terminal.hpp"
#include "experiments/calibrate/calibrate.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/config/installed.hpp"
#include "experiments/config/version.hpp"
#include "experiments/results/table.hpp"
#include "experiments/run/interruption.hpp"

namespace orrery {
namespace {

using namespace calibrate;
using Json = nlohmann::ordered_json;

struct CalibrateOptions {
  std::string out, kernels = "cpu";
  bool quick = false, busy_ok = false, json = false;
};

std::string table_of_prices(const Calibration& c) {
  Table table({"operation", "points", "fit error", "worst", "repeat error"});
  for (const auto& [key, t] : c.tables)
    table.add({key, std::to_string(t.points), human_percent(t.table.fit_error, 1),
               human_percent(t.worst_fit_error, 1),
               t.repeat_error > 0 ? human_percent(t.repeat_error, 1) : "-"});
  return table.text(room_on(stdout));
}

/// The slowest rate and the fastest.
std::string rates(const sim::RateBySize& rate) {
  if (!rate.known()) return "in passing";
  const auto [least, most] = std::minmax_element(
      rate.points.begin(), rate.points.end(),
      [](const auto& a, const auto& b) { return a.bytes_per_second < b.bytes_per_second; });
  return least == most ? human_rate(least->bytes_per_second)
                       : fmt::format("{} to {}", human_rate(least->bytes_per_second),
                                     human_rate(most->bytes_per_second));
}

std::string table_of_libraries(const Calibration& c) {
  Table table({"library", "collective", "message", "copies at", "adds at", "core for TCP"});
  for (const auto& [name, l] : c.profile.libraries)
    table.add({name, human_seconds(l.collective_seconds), human_seconds(l.message_seconds),
               rates(l.copy_bytes_per_second), rates(l.reduce_bytes_per_second),
               l.core_seconds_per_byte > 0
                   ? fmt::format("{:.3f} ns/B", 1e9 * l.core_seconds_per_byte)
                   : "-"});
  return table.text(room_on(stdout));
}

void print(const Calibration& c, const Written& files) {
  const int width = room_on(stdout);
  fmt::print("{}\n\n{}\n", wrapped(c.machine, width), table_of_prices(c));
  fmt::print(
      "{}\n{}\n",
      wrapped("fit error: mean relative error at points that were left out of a table; repeat "
              "error: mean difference of two measurements of a point\n",
              width),
      table_of_libraries(c));
  if (!c.mpi.note.empty()) fmt::print("{}\n", c.mpi.note);
  fmt::print(
      "host: {} to issue an operation, {} between two on a lane, {} to hand over to another "
      "lane, {} to wake up\n",
      human_seconds(c.host.issue_seconds), human_seconds(c.host.lane_seconds),
      human_seconds(c.host.handover_seconds), human_seconds(c.host.sync_seconds));
  const auto times = [](const std::optional<double>& factor) {
    return factor ? fmt::format("{:.2f} times", *factor) : std::string("(not measured)");
  };
  if (c.gpu)
    fmt::print("a kernel takes {} as long beside a copy from the host, {} beside one on the GPU\n",
               times(c.gpu->slowdowns.by_link), times(c.gpu->slowdowns.by_copy));
  fmt::print("{}: {}FLOP/s dense, {} memory\n",
             c.gpu ? c.gpu->product : fmt::format("all {} cores", c.cores),
             human_count(c.flops_per_second), human_rate(c.memory_bytes_per_second));
  if (c.profile.variation > 0)
    fmt::print("an operation's time varies by {} from core to core\n",
               human_percent(c.profile.variation, 1));
  if (c.profile.turn_seconds > 0)
    fmt::print("threads that share a core take turns of {}\n",
               human_seconds(c.profile.turn_seconds));
  fmt::print("{}\n", wrapped("verdict: " + verdict(c), width));
  fmt::print("took {}; written: {} and {}\n", human_seconds(c.seconds), files.profile,
             files.cluster);
}

Json json_of(const std::optional<double>& number) { return number ? Json(*number) : Json(); }

Json to_json(const Calibration& c, const Written& files) {
  Json out{{"schema_version", kSchemaVersion},
           {"machine", c.machine},
           {"cores", c.cores},
           {"seconds", c.seconds},
           {"flops_per_second", c.flops_per_second},
           {"memory_bytes_per_second", c.memory_bytes_per_second},
           {"issue_seconds", c.host.issue_seconds},
           {"lane_seconds", c.host.lane_seconds},
           {"handover_seconds", c.host.handover_seconds},
           {"sync_seconds", c.host.sync_seconds},
           {"variation", c.profile.variation},
           {"turn_seconds", c.profile.turn_seconds},
           {"tables", Json::object()},
           {"libraries", Json::object()},
           {"note", c.mpi.note},
           {"other_work_cores", json_of(c.other_work.cores)},
           {"verdict", verdict(c)},
           {"profile", files.profile},
           {"cluster", files.cluster}};
  if (c.gpu)
    out["gpu"] = {{"product", c.gpu->product},
                  {"slowdown_by_link", json_of(c.gpu->slowdowns.by_link)},
                  {"slowdown_by_copy", json_of(c.gpu->slowdowns.by_copy)}};
  for (const auto& [key, t] : c.tables)
    out["tables"][key] = {{"points", t.points},
                          {"fit_error", t.table.fit_error},
                          {"worst_fit_error", t.worst_fit_error},
                          {"repeat_error", t.repeat_error}};
  for (const auto& [name, l] : c.profile.libraries)
    out["libraries"][name] = {{"collective_seconds", l.collective_seconds},
                              {"message_seconds", l.message_seconds},
                              {"copy_bytes_per_second", l.copy_bytes_per_second.of_largest()},
                              {"core_seconds_per_byte", l.core_seconds_per_byte},
                              {"reduce_bytes_per_second", l.reduce_bytes_per_second.of_largest()}};
  return out;
}

Calibration measured(const CalibrateOptions& options) {
  const Effort effort = options.quick ? Effort::quick : Effort::full;
  return options.kernels == "cuda" ? calibrate_gpu(effort)
                                   : calibrate::calibrate(effort, find_probe());
}

/// Measures on a machine that nobody else uses; once more if somebody did.
///
/// Errors    Error: others are at work all the time
Calibration measured_in_quiet(const CalibrateOptions& options) {
  constexpr int kLooks = 60;  // a second each
  wait_for_quiet(kLooks);
  Calibration c = measured(options);
  if (!c.other_work.disturbs()) return c;
  tell("note: {}: measuring once more\n", c.other_work.words("it was"));
  wait_for_quiet(kLooks);
  c = measured(options);
  if (!c.other_work.disturbs()) return c;
  throw Error(
      fmt::format("{}, twice; nothing is written, because these times are too long. Stop "
                  "the other programs, or add --busy-ok to keep such times",
                  c.other_work.words("it was")));
}

void run(const CalibrateOptions& options) {
  if (options.kernels != "cpu" && options.kernels != "cuda")
    throw ConfigError("--kernels",
                      fmt::format("found \"{}\"; allowed are cpu and cuda", options.kernels));
  const std::string folder = options.out.empty() ? machine_configs().string() : options.out;
  // an output that cannot be written is reported before minutes have passed
  require_place_for_files(folder);
  tell_activities(true);
  end_on_signals();
  const Calibration c = options.busy_ok ? measured(options) : measured_in_quiet(options);
  if (c.other_work.disturbs())
    tell("note: {}; the measured times are too long. Calibrate again when the machine is idle\n",
         c.other_work.words("it was"));
  const Written files = write(c, folder);
  if (options.json)
    fmt::print("{}\n", to_json(c, files).dump());
  else
    print(c, files);
}

}  // namespace

void add_calibrate_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CalibrateOptions>();
  CLI::App* command =
      app.add_subcommand("calibrate",
                         "Measure this machine or its GPU: device profile and cluster file for "
                         "simulations");
  command
      ->add_option("--out", options->out,
                   "Write devices/NAME.json and clusters/NAME.json into this folder, NAME being "
                   "this-machine or the GPU's (default: configs, where simulations look for "
                   "them)")
      ->type_name("DIR");
  command->add_flag("--quick", options->quick,
                    "Measure fewer points, each once: about a minute instead of four");
  command->add_flag("--busy-ok", options->busy_ok,
                    "Measure although other programs are at work: times are too long, and the "
                    "files say so");
  command
      ->add_option(
          "--kernels", options->kernels,
          "Measure all cores (cpu, the default) or the first GPU that CUDA_VISIBLE_DEVICES shows "
          "(cuda)")
      ->type_name("cpu|cuda");
  command->add_flag("--json", options->json,
                    "Print one JSON object as the last line of standard output");
  command->footer(
      "Leave the machine idle meanwhile: it waits a minute for others to end, measures once more\n"
      "if they were at work, and then gives up without writing. Examples: orrery calibrate\n"
      "                                             orrery calibrate --kernels cuda");
  command->callback([options, &exit_code] {
    run(*options);
    exit_code = 0;
  });
}

}  // namespace orrery
