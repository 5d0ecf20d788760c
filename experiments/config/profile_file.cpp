#include "experiments/config/profile_file.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "core/base/error.hpp"
#include "core/terminal/words.hpp"
#include "experiments/config/schema.hpp"
#include "experiments/config/shipped.hpp"
#include "experiments/config/validate_json.hpp"
#include "sim/price/price_point.hpp"
#include "sim/price/price_table.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

double number(const Json& object, const char* key) { return object[key]["value"].get<double>(); }
double number_or_zero(const Json& object, const char* key) {
  return object.contains(key) ? number(object, key) : 0;
}

/// Price keys, and the kinds that represent all their variants.
std::vector<std::string> keys_and_kinds() {
  std::vector<std::string> known = sim::price_keys();
  for (const std::string& key : sim::price_keys()) {
    const std::string kind = key.substr(0, key.find('/'));
    if (std::find(known.begin(), known.end(), kind) == known.end()) known.push_back(kind);
  }
  return known;
}

void require_known(const std::string& path, const std::string& key,
                   const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), key) != known.end()) return;
  const std::string close = nearest(key, known);
  throw ConfigError(path, fmt::format("unknown kind of operation.{} Known: {}",
                                      close.empty() ? "" : " Did you mean \"" + close + "\"?",
                                      fmt::join(known, ", ")));
}

/// A rate, or one of each size that "by_size" lists.
sim::RateBySize rate_of(const std::string& path, const Json& library, const char* key) {
  if (!library.contains(key)) return {};
  const double value = number(library, key);
  if (!library[key].contains("by_size")) return value;
  const auto fail = [&](const std::string& why) {
    throw ConfigError(fmt::format("{}.{}.by_size", path, key), why);
  };
  std::vector<sim::RateBySize::Point> points;
  for (const Json& point : library[key]["by_size"]) {
    const double bytes = point["bytes"], rate = point["value"];
    if (!points.empty() && bytes <= points.back().bytes)
      fail(fmt::format("found {} bytes after {}: list messages from short to long", bytes,
                       points.back().bytes));
    points.push_back({bytes, rate});
  }
  if (points.back().bytes_per_second != value)
    fail(
        fmt::format("found {:g} for the longest messages, but \"value\" is {:g}: both are the same",
                    points.back().bytes_per_second, value));
  return sim::RateBySize(std::move(points));
}

sim::Library library_of(const std::string& name, const Json& file) {
  const std::string path = "libraries." + name;
  return {.name = name,
          .issue_seconds = number_or_zero(file, "issue_seconds"),
          .collective_seconds = number(file, "collective_seconds"),
          .message_seconds = number(file, "message_seconds"),
          .copy_bytes_per_second = rate_of(path, file, "copy_bytes_per_second"),
          .core_seconds_per_byte = number_or_zero(file, "core_seconds_per_byte"),
          .reduce_bytes_per_second = rate_of(path, file, "reduce_bytes_per_second")};
}

sim::HostPrice host_price_of(const Json& file) {
  return {.launch_seconds = number_or_zero(file, "launch_seconds"),
          .seconds_per_item = number_or_zero(file, "seconds_per_item"),
          .bytes_per_second = number_or_zero(file, "bytes_per_second"),
          .thread_efficiency =
              file.contains("thread_efficiency") ? number(file, "thread_efficiency") : 1};
}

/// The efficiencies of a kind, of which some end may be asked.
sim::Roofline::Efficiency efficiency_of(const std::string& path, const Json& stated,
                                        Efficiencies which) {
  const auto end = [&](const char* name, int sign) {
    if (!stated.contains(name)) return;
    for (const char* share : {"flops", "bytes"})
      if (sign * (stated[name][share].get<double>() - stated[share].get<double>()) < 0)
        throw ConfigError(fmt::format("{}.{}.{}", path, name, share),
                          fmt::format("found {}, but {} is stated: a range holds what is stated",
                                      stated[name][share].dump(), stated[share].dump()));
  };
  end("lowest", -1);
  end("highest", 1);
  if (which == Efficiencies::stated) return {stated["flops"], stated["bytes"]};
  const char* name = which == Efficiencies::lowest ? "lowest" : "highest";
  if (!stated.contains(name))
    throw ConfigError(path,
                      fmt::format("has no \"{}\", which simulation.sensitivity needs: add it, "
                                  "or leave that out",
                                  name));
  return {stated[name]["flops"], stated[name]["bytes"]};
}

void read_roofline(const Json& file, Efficiencies which, sim::Roofline& roofline) {
  roofline.flops_per_second = number(file, "flops_per_second");
  roofline.bytes_per_second = number(file, "bytes_per_second");
  roofline.cache_bytes = number(file, "cache_bytes");
  roofline.cache_bytes_per_second = number(file, "cache_bytes_per_second");
  if (file.contains("multiprocessors")) roofline.multiprocessors = number(file, "multiprocessors");
  for (const auto& [kind, efficiency] : file["kinds"].items()) {
    require_known("roofline.kinds." + kind, kind, keys_and_kinds());
    roofline.by_kind[kind] = efficiency_of("roofline.kinds." + kind, efficiency, which);
  }
}

/// A table of seconds, or of factors.
sim::PriceTable table_of(const std::string& path, const std::string& key, const Json& file,
                         const char* values) {
  require_known(path, key, sim::price_keys());
  sim::PriceTable table;
  for (const Json& axis : file["axes"]) table.axes.push_back({axis["name"], axis["points"]});
  table.seconds = file[values].get<std::vector<double>>();
  table.fit_error = file.value("fit_error", 0.0);
  if (const std::string problem = sim::problem_of(table, key); !problem.empty())
    throw ConfigError(path, problem);
  return table;
}

Json library_json(const sim::Library& library, const SourceOf& source_of, const std::string& path) {
  Json file = Json::object();
  const auto add = [&](const char* key, double value, bool always) {
    if (always || value != 0)
      file[key] = {{"value", value}, {"source", source_of(path + "." + key)}};
  };
  const auto add_rate = [&](const char* key, const sim::RateBySize& rate) {
    add(key, rate.of_largest(), false);
    if (rate.points.size() < 2) return;
    for (const sim::RateBySize::Point& point : rate.points)
      file[key]["by_size"].push_back({{"bytes", point.bytes}, {"value", point.bytes_per_second}});
  };
  add("issue_seconds", library.issue_seconds, false);
  add("collective_seconds", library.collective_seconds, true);
  add("message_seconds", library.message_seconds, true);
  add_rate("copy_bytes_per_second", library.copy_bytes_per_second);
  add("core_seconds_per_byte", library.core_seconds_per_byte, false);
  add_rate("reduce_bytes_per_second", library.reduce_bytes_per_second);
  return file;
}

Json host_price_json(const sim::HostPrice& price, const SourceOf& source_of,
                     const std::string& path) {
  Json file = Json::object();
  const auto add = [&](const char* key, double value) {
    file[key] = {{"value", value}, {"source", source_of(path + "." + key)}};
  };
  add("launch_seconds", price.launch_seconds);
  if (price.seconds_per_item > 0) add("seconds_per_item", price.seconds_per_item);
  if (price.bytes_per_second > 0) add("bytes_per_second", price.bytes_per_second);
  if (price.thread_efficiency != 1) add("thread_efficiency", price.thread_efficiency);
  return file;
}

Json roofline_json(const sim::Roofline& roofline, const SourceOf& source_of) {
  Json file = Json::object();
  const auto add = [&](const char* key, double value) {
    file[key] = {{"value", value}, {"source", source_of(std::string("roofline.") + key)}};
  };
  add("flops_per_second", roofline.flops_per_second);
  add("bytes_per_second", roofline.bytes_per_second);
  add("cache_bytes", roofline.cache_bytes);
  add("cache_bytes_per_second", roofline.cache_bytes_per_second);
  if (roofline.multiprocessors > 1) add("multiprocessors", roofline.multiprocessors);
  file["kinds"] = Json::object();
  for (const auto& [kind, efficiency] : roofline.by_kind)
    file["kinds"][kind] = {{"flops", efficiency.flops},
                           {"bytes", efficiency.bytes},
                           {"source", source_of("roofline.kinds." + kind)}};
  return file;
}

Json table_json(const sim::PriceTable& table, const std::string& source, const char* values) {
  Json file{{"axes", Json::array()}, {values, table.seconds}};
  for (const sim::PriceTable::Axis& axis : table.axes)
    file["axes"].push_back({{"name", axis.name}, {"points", axis.points}});
  file["source"] = source;
  return file;
}

}  // namespace

void require_scalable(const std::string& path, const std::string& kind) {
  std::vector<std::string> known = keys_and_kinds();
  known.insert(known.end(),
               {"sample", "sample_vertices", "sample_relations", "sample_relation_vertices", "scan",
                "pairs", "cut", "serve"});  // tasks of hosts
  if (kind != "*") require_known(path, kind, known);
}

sim::DeviceProfile make_profile(const Json& file, Efficiencies which) {
  validate_against(kDeviceSchema, file);
  if (which != Efficiencies::stated && (file.contains("tables") || !file.contains("roofline")))
    throw ConfigError("simulation.sensitivity",
                      fmt::format("the device profile \"{}\" has measured times, and no ranges of "
                                  "efficiencies: set it to false",
                                  file["name"].get<std::string>()));
  sim::DeviceProfile profile;
  profile.name = file["name"];
  profile.origin = file["origin"];
  profile.source = file["source"];
  profile.other_work_cores = file.value("other_work_cores", 0.0);
  profile.issue_seconds = number(file, "issue_seconds");
  profile.handover_seconds = number(file, "handover_seconds");
  profile.sync_seconds = number(file, "sync_seconds");
  profile.communication_slowdown = number(file, "communication_slowdown");
  if (file.contains("variation")) profile.variation = number(file, "variation");
  if (file.contains("turn_seconds")) profile.turn_seconds = number(file, "turn_seconds");
  profile.roofline.launch_seconds = number(file, "launch_seconds");
  if (file.contains("roofline")) read_roofline(file["roofline"], which, profile.roofline);
  if (file.contains("tables"))
    for (const auto& [key, table] : file["tables"].items())
      profile.tables[key] = table_of("tables." + key, key, table, "seconds");
  if (file.contains("in_place"))
    for (const auto& [key, table] : file["in_place"].items())
      profile.in_place[key] = table_of("in_place." + key, key, table, "factors");
  if (file.contains("in_batches"))
    for (const auto& [key, table] : file["in_batches"].items())
      profile.in_batches[key] = table_of("in_batches." + key, key, table, "factors");
  if (file.contains("scale"))
    for (const auto& [kind, factor] : file["scale"].items()) {
      require_scalable("scale." + kind, kind);
      profile.scale[kind] = factor["value"];
    }
  for (const auto& [name, library] : file["libraries"].items())
    profile.libraries[name] = library_of(name, library);
  if (file.contains("host"))
    for (const auto& [kind, price] : file["host"]["kinds"].items())
      profile.host[kind] = host_price_of(price);
  return profile;
}

sim::DeviceProfile load_profile(const std::string& file_or_name, Efficiencies which) {
  const std::string path = kDeviceFiles.find(file_or_name);
  const Json file = parse_json(read_settings(path, "a device profile"), path);
  try {
    return make_profile(file, which);
  } catch (ConfigError& error) {
    error.add_context(path);
    throw;
  }
}

sim::PriceErrors make_price_errors(const Json& file) {
  sim::PriceErrors errors;
  errors.measured = file["origin"] == "measured";
  if (file.contains("tables")) {
    std::map<std::string, int> tables;
    for (const auto& [key, table] : file["tables"].items()) {
      const std::string kind = key.substr(0, key.find('/'));
      double& mean = errors.by_kind[kind];
      mean += (table["fit_error"].get<double>() - mean) / ++tables[kind];
    }
  }
  if (!file.contains("errors")) return errors;
  const Json& told = file["errors"];
  errors.operations = number_or_zero(told, "operations");
  if (told.contains("kinds"))
    for (const auto& [kind, error] : told["kinds"].items()) {
      require_known("errors.kinds." + kind, kind, keys_and_kinds());
      errors.by_kind[kind] = error["value"];
    }
  if (told.contains("libraries"))
    for (const auto& [library, error] : told["libraries"].items())
      errors.communication[library] = error["value"];
  if (errors.measured && file.contains("libraries"))
    for (const auto& [name, library] : file["libraries"].items())
      if (library.contains("core_seconds_per_byte")) errors.moved_by_cores.insert(name);
  return errors;
}

sim::PriceErrors load_price_errors(const std::string& file_or_name) {
  const std::string path = kDeviceFiles.find(file_or_name);
  const Json file = parse_json(read_settings(path, "a device profile"), path);
  try {
    validate_against(kDeviceSchema, file);
    return make_price_errors(file);
  } catch (ConfigError& error) {
    error.add_context(path);
    throw;
  }
}

Json price_errors_json(const sim::PriceErrors& errors, const SourceOf& source_of) {
  const auto number = [&](double value, const std::string& path) {
    return Json{{"value", value}, {"source", source_of("errors." + path)}};
  };
  Json file = Json::object();
  if (errors.operations > 0) file["operations"] = number(errors.operations, "operations");
  for (const auto& [kind, error] : errors.by_kind)
    file["kinds"][kind] = number(error, "kinds." + kind);
  for (const auto& [library, error] : errors.communication)
    file["libraries"][library] = number(error, "libraries." + library);
  return file;
}

std::vector<std::string> shipped_profiles() { return kDeviceFiles.names(); }

Json profile_json(const sim::DeviceProfile& profile, const std::string& description,
                  const SourceOf& source_of) {
  Json file{{"name", profile.name},
            {"description", description},
            {"origin", profile.origin},
            {"source", profile.source}};
  if (profile.other_work_cores > 0) file["other_work_cores"] = profile.other_work_cores;
  const auto add = [&](const char* key, double value) {
    file[key] = {{"value", value}, {"source", source_of(key)}};
  };
  add("launch_seconds", profile.roofline.launch_seconds);
  add("issue_seconds", profile.issue_seconds);
  add("handover_seconds", profile.handover_seconds);
  add("sync_seconds", profile.sync_seconds);
  add("communication_slowdown", profile.communication_slowdown);
  if (profile.variation > 0) add("variation", profile.variation);
  if (profile.turn_seconds > 0) add("turn_seconds", profile.turn_seconds);
  if (!profile.roofline.by_kind.empty())
    file["roofline"] = roofline_json(profile.roofline, source_of);
  file["libraries"] = Json::object();
  for (const auto& [name, library] : profile.libraries)
    file["libraries"][name] = library_json(library, source_of, "libraries." + name);
  for (const auto& [kind, price] : profile.host)
    file["host"]["kinds"][kind] = host_price_json(price, source_of, "host.kinds." + kind);
  for (const auto& [kind, factor] : profile.scale)
    file["scale"][kind] = {{"value", factor}, {"source", source_of("scale." + kind)}};
  for (const auto& [key, table] : profile.tables) {
    file["tables"][key] = table_json(table, source_of("tables." + key), "seconds");
    file["tables"][key]["fit_error"] = table.fit_error;
  }
  for (const auto& [key, table] : profile.in_place)
    file["in_place"][key] = table_json(table, source_of("in_place." + key), "factors");
  for (const auto& [key, table] : profile.in_batches)
    file["in_batches"][key] = table_json(table, source_of("in_batches." + key), "factors");
  return file;
}

namespace {

void append_pretty(const Json& value, std::size_t indent, std::string& out) {
  constexpr std::size_t kLine = 110;
  const std::string flat = value.dump();
  if (!value.is_structured() || value.empty() || flat.size() + indent <= kLine) {
    out += flat;
    return;
  }
  const std::string blanks(indent + 2, ' ');
  const bool numbers = value.is_array() && !value.front().is_structured();
  out += value.is_array() ? "[" : "{";
  std::size_t line_start = 0;
  bool first = true;
  for (const auto& [key, member] : value.items()) {
    if (!first) out += ",";
    if (first || !numbers || out.size() - line_start > kLine - 10) {
      out += "\n" + blanks;
      line_start = out.size() - blanks.size();
    } else {
      out += " ";
    }
    if (value.is_object()) out += Json(key).dump() + ": ";
    append_pretty(member, indent + 2, out);
    first = false;
  }
  out += "\n" + std::string(indent, ' ') + (value.is_array() ? "]" : "}");
}

}  // namespace

std::string pretty(const Json& value) {
  std::string text;
  append_pretty(value, 0, text);
  return text + "\n";
}

}  // namespace orrery
