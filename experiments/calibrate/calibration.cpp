#include "experiments/calibrate/calibration.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/units.hpp"

namespace orrery::calibrate {
namespace {

/// Seconds at the largest point of every axis.
double at_largest(const sim::PriceTable& table) { return table.seconds.back(); }

/// m · n · k, or the number of elements, there.
double product_of_largest(const sim::PriceTable& table) {
  double product = 1;
  for (const sim::PriceTable::Axis& axis : table.axes)
    if (axis.name != "threads" && axis.name != "width" && axis.name != "ragged")
      product *= axis.points.back();
  return product;
}

}  // namespace

std::int64_t main_memory_bytes() {
  return static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGE_SIZE);
}

Report telling(Activity& activity) {
  const auto begin = std::chrono::steady_clock::now();
  return [&activity, begin](double share, const std::string& what) {
    constexpr double kEnough = 0.05;  // a basis for the rest
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::string far = fmt::format("calibrating {:.0f} %", 100 * share);
    if (share > kEnough)
      far += fmt::format(" (about {:.0f} s left)", seconds / share * (1 - share));
    activity.update({fmt::format("{}: {}", far, what), far});
  };
}

double rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

sim::Library rounded(sim::Library l) {
  for (double* value : {&l.collective_seconds, &l.message_seconds, &l.core_seconds_per_byte})
    *value = rounded(*value);
  for (sim::RateBySize* rate : {&l.copy_bytes_per_second, &l.reduce_bytes_per_second})
    for (sim::RateBySize::Point& point : rate->points)
      point.bytes_per_second = rounded(point.bytes_per_second);
  return l;
}

void derive_profile(Calibration& c, double between_seconds) {
  sim::DeviceProfile& profile = c.profile;
  profile.name = c.name;
  profile.origin = "measured";
  profile.source = c.machine;
  profile.issue_seconds = rounded(c.host.issue_seconds);
  profile.handover_seconds = rounded(c.host.handover_seconds);
  profile.sync_seconds = rounded(c.host.sync_seconds);
  profile.roofline.launch_seconds = rounded(c.host.lane_seconds);
  if (c.gpu) profile.communication_slowdown = rounded(c.gpu->slowdowns.by_link.value_or(1));
  for (const auto& [key, measured] : c.tables) {
    sim::PriceTable& table = profile.tables[key] = measured.table;
    for (double& seconds : table.seconds) seconds = rounded(seconds + between_seconds);
    table.fit_error = rounded(table.fit_error);
  }
  const sim::PriceTable& gemm = c.tables.at("gemm").table;
  c.flops_per_second = rounded(2 * product_of_largest(gemm) / at_largest(gemm));
  const sim::PriceTable& relu = c.tables.at("activate_backward").table;
  c.memory_bytes_per_second = rounded(12 * product_of_largest(relu) / at_largest(relu));
}

void add_other_work(Calibration& c, const OtherWork& work) {
  c.other_work = work;
  if (!work.disturbs()) return;
  c.profile.other_work_cores = rounded(work.cores.value_or(work.load_before));
  c.machine += "; " + work.words("it was");
  c.profile.source = c.machine;
}

std::string verdict(const Calibration& c) {
  constexpr double kGood = 0.1;
  std::vector<std::pair<double, std::string>> off;
  for (const auto& [key, t] : c.tables)
    if (t.table.fit_error > kGood) off.emplace_back(t.table.fit_error, key);
  std::sort(off.rbegin(), off.rend());
  std::string names;
  for (const auto& [error, key] : off)
    names += fmt::format("{}{} {}", names.empty() ? "" : ", ", key, human_percent(error, 1));
  std::string text = c.other_work.disturbs()
                         ? "other programs were at work, so all times are too long; "
                         : "other programs hardly ran; ";
  text += fmt::format("{} of {} tables are within 10 % at points that were left out",
                      c.tables.size() - off.size(), c.tables.size());
  if (!off.empty())
    text += fmt::format(". Simulations are less certain where these take long: {}", names);
  return text;
}

void add_host_tasks(Calibration& c, const HostTasks& tasks) {
  c.tasks = tasks;
  for (const auto& [kind, price] :
       {std::pair("checkpoint", tasks.checkpoint), std::pair("write_rows", tasks.write_rows),
        std::pair("serve", tasks.serve), std::pair("sample", tasks.sample),
        std::pair("sample_vertices", tasks.sample_vertices),
        std::pair("sample_relations", tasks.sample_relations),
        std::pair("sample_relation_vertices", tasks.sample_relation_vertices),
        std::pair("scan", tasks.scan), std::pair("pairs", tasks.pairs)})
    c.profile.host[kind] = {rounded(price.launch_seconds), rounded(price.seconds_per_item),
                            rounded(price.bytes_per_second), price.thread_efficiency};
}

void add_library(Calibration& c, const MeasuredLibrary& measured) {
  const std::string& name = measured.library.name;
  c.profile.libraries[name] = rounded(measured.library);
  if (measured.error > 0) c.errors.communication[name] = rounded(measured.error);
}

void add_in_place(Calibration& c, InPlace found) {
  c.in_place = std::move(found.samples);
  c.profile.variation = rounded(found.variation);
  const auto factors = [&](sim::Operands operands) {
    auto tables = fit_in_place(only(c.in_place, operands));
    for (auto& [key, table] : tables)
      for (double& factor : table.seconds) factor = rounded(factor);
    return tables;
  };
  c.profile.in_place = factors(sim::Operands::of_graph);
  c.profile.in_batches = factors(sim::Operands::of_batches);
  const sim::PriceErrors errors = errors_of(c.in_place);
  c.errors.operations = rounded(errors.operations);
  for (const auto& [kind, error] : errors.by_kind) c.errors.by_kind[kind] = rounded(error);
}

}  // namespace orrery::calibrate
