#include "experiments/config/validate_json.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <map>
#include <mutex>
#include <set>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "core/base/error.hpp"
#include "core/base/json_reader.hpp"
#include "core/terminal/plain_text.hpp"
#include "experiments/config/meanings.hpp"
#include "experiments/config/plugins.hpp"
#include "experiments/config/schema.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

std::string joined(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

std::string type_name(const Json& value) {
  if (value.is_number_integer()) return "integer";
  return value.type_name();
}

bool has_type(const Json& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  return value.type_name() == type;
}

std::string shown(const Json& value) {
  const std::string text = value.dump();
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

/// Where else a word belongs, for someone who put it here: keys and values of the schema.
std::string elsewhere(const Json& root, const std::string& word, const std::string& path) {
  for (const std::string& setting : settings_meant(root, word))
    if (setting.rfind(path + "=", 0) != 0)
      return fmt::format(" {} is a setting of its own.", setting);
  return "";
}

/// Describes the faults of a value against its schema. Knows the keywords that our schema uses.
class Explainer {
 public:
  explicit Explainer(const Json& root) : root_(root) {}

  /// Errors    ConfigError of the first fault, with those of other keys in lines below
  void require_valid(const Json& value) {
    note([&] { explain(root_, value, ""); });
    if (faults_.empty()) return;
    constexpr std::size_t kMost = 20;
    const ConfigError& first = faults_.front();
    std::string problem = first.what();
    if (!first.path.empty()) problem = problem.substr(first.path.size() + 2);
    const std::size_t more = faults_.size() - 1;
    if (more > 0) problem += fmt::format("\nand {} more:", more);
    for (std::size_t i = 1; i <= std::min(more, kMost); ++i)
      problem += fmt::format("\n  {}", faults_[i].what());
    if (more > kMost) problem += "\n  ...";
    throw ConfigError(first.path, problem);
  }

 private:
  /// What is wrong with one key says nothing of the others.
  template <class Check>
  void note(const Check& check) {
    try {
      check();
    } catch (const ConfigError& fault) {
      faults_.push_back(fault);
    }
  }

  void explain(const Json& schema, const Json& value, const std::string& path) {
    check_type(schema, value, path);
    check_enum(schema, value, path);
    check_range(schema, value, path);
    if (value.is_object()) check_object(schema, value, path);
    if (value.is_array() && value.size() < schema.value("minItems", std::size_t{0}))
      throw ConfigError(path, "found an empty list, expected at least one value");
    if (value.is_array() && schema.contains("items"))
      for (std::size_t i = 0; i < value.size(); ++i)
        note([&] { explain(schema["items"], value[i], fmt::format("{}[{}]", path, i)); });
    if (value.is_string() && value.get<std::string>().size() < schema.value("minLength", 0U))
      throw ConfigError(path, "found an empty string");
  }

  static void check_type(const Json& schema, const Json& value, const std::string& path) {
    if (!schema.contains("type")) return;
    const Json& type = schema["type"];
    const auto types = type.is_array() ? type.get<std::vector<std::string>>()
                                       : std::vector{type.get<std::string>()};
    if (std::none_of(types.begin(), types.end(),
                     [&](const std::string& t) { return has_type(value, t); }))
      throw ConfigError(path, fmt::format("found {} ({}), expected {}{}{}", shown(value),
                                          type_name(value), fmt::join(types, " or "), range(schema),
                                          as_written(schema, value, types)));
  }

  /// The correct form of a value with the right meaning: 10.0 as 10, "True" as true, 4 as an object
  /// with its source.
  static std::string as_written(const Json& schema, const Json& value,
                                const std::vector<std::string>& types) {
    const Json properties = schema.value("properties", Json::object());
    if (!value.is_object() && properties.contains("value") && properties.contains("source"))
      return fmt::format("; write {{\"value\": {}, \"source\": \"where it is from\"}}",
                         value.is_number() ? value.dump() : "a number");
    const auto allowed = [&](const char* type) {
      return std::find(types.begin(), types.end(), type) != types.end();
    };
    if (value.is_number_float() && allowed("integer")) {
      const double x = value.get<double>();
      if (std::abs(x) < 1e15 && x == std::floor(x)) return fmt::format("; write {:.0f}", x);
    }
    if (value.is_string() && !allowed("string") && (allowed("number") || allowed("integer"))) {
      const std::string text = value;
      const auto unit = text.find_first_not_of("0123456789.");
      if (unit == std::string::npos && !text.empty()) return "; write it without quotes";
      if (unit != std::string::npos && unit > 0)
        return "; write the number alone, in bytes, bytes per second or seconds";
    }
    if (value == "True" && allowed("boolean")) return "; write true";
    if (value == "False" && allowed("boolean")) return "; write false";
    return "";
  }

  void check_enum(const Json& schema, const Json& value, const std::string& path) const {
    if (!schema.contains("enum")) return;
    const auto allowed = schema["enum"].get<std::vector<std::string>>();
    const std::string word = value.is_string() ? value.get<std::string>() : "";
    if (value.is_string() && std::find(allowed.begin(), allowed.end(), word) != allowed.end())
      return;
    const auto later = schema.value("x-later", std::vector<std::string>{});
    if (std::find(later.begin(), later.end(), word) != later.end())
      throw ConfigError(path, fmt::format("\"{}\" is not in this version of Orrery, allowed: {}",
                                          word, fmt::join(allowed, ", ")));
    throw ConfigError(
        path, fmt::format("found {}, allowed: {}.{}{}", shown(value), fmt::join(allowed, ", "),
                          did_you_mean(word, allowed), elsewhere(root_, word, path)));
  }

  static std::string range(const Json& schema) {
    std::string text;
    const auto bound = [&](const char* keyword, const char* sign) {
      if (schema.contains(keyword))
        text += fmt::format("{} {} {}", text.empty() ? "" : " and", sign, schema[keyword].dump());
    };
    bound("minimum", ">=");
    bound("exclusiveMinimum", ">");
    bound("maximum", "<=");
    bound("exclusiveMaximum", "<");
    return text;
  }

  static void check_range(const Json& schema, const Json& value, const std::string& path) {
    if (!value.is_number()) return;
    const double x = value.get<double>();
    const auto bound = [&](const char* keyword) {
      return schema.contains(keyword) ? std::optional(schema[keyword].get<double>()) : std::nullopt;
    };
    const auto low = bound("minimum"), above = bound("exclusiveMinimum"), high = bound("maximum"),
               below = bound("exclusiveMaximum");
    if ((low && x < *low) || (above && x <= *above) || (high && x > *high) ||
        (below && x >= *below))
      throw ConfigError(path,
                        fmt::format("found {}, expected a value{}", shown(value), range(schema)));
  }

  void check_object(const Json& schema, const Json& value, const std::string& path) {
    if (value.size() < schema.value("minProperties", std::size_t{0}))
      throw ConfigError(path, "found an empty object, expected at least one key");
    const Json properties = schema.value("properties", Json::object());
    std::vector<std::string> known;
    for (const auto& [key, unused] : properties.items()) known.push_back(key);
    for (auto member = value.begin(); member != value.end(); ++member)
      note([&] { check_member(schema, properties, known, value, member.key(), path); });
    for (const auto& key : schema.value("required", std::vector<std::string>{}))
      if (!value.contains(key))
        faults_.emplace_back(joined(path, key), "is required" + hint(properties[key]));
  }

  /// Whether a key goes with the value of another one that is faulty itself.
  bool rests_on_a_fault(const Json& properties, const Json& object, const std::string& key) const {
    const Json condition = properties[key].value("x-when", Json::object());
    return std::any_of(condition.items().begin(), condition.items().end(), [&](const auto& item) {
      if (!object.contains(item.key()) || !properties.contains(item.key())) return false;
      Explainer other(root_);
      other.note([&] { other.explain(properties[item.key()], object[item.key()], ""); });
      return !other.faults_.empty();
    });
  }

  void check_member(const Json& schema, const Json& properties,
                    const std::vector<std::string>& known, const Json& object,
                    const std::string& key, const std::string& path) {
    if (properties.contains(key)) {
      if (!rests_on_a_fault(properties, object, key))
        check_condition(properties[key], object, properties, joined(path, key));
      explain(properties[key], object[key], joined(path, key));
      return;
    }
    const Json other = schema.value("additionalProperties", Json(true));
    if (other == false)
      throw ConfigError(joined(path, key),
                        fmt::format("unknown key.{} Known keys: {}", known_key(key, known, path),
                                    fmt::join(known, ", ")));
    if (other.is_object()) explain(other, object[key], joined(path, key));
  }

  /// The key meant by an unknown one of the object at `path`: one of its own, else one of another
  /// object.
  std::string known_key(const std::string& key, const std::vector<std::string>& known,
                        const std::string& path) const {
    const auto paths = paths_meant(root_, key);
    const bool own = std::any_of(known.begin(), known.end(), [&](const std::string& candidate) {
      return std::find(paths.begin(), paths.end(), joined(path, candidate)) != paths.end();
    });
    if (own || paths.empty()) return did_you_mean(key, known);
    return fmt::format(" Did you mean \"{}\"?", fmt::join(paths, "\" or \""));
  }

  static std::string hint(const Json& schema) {
    if (!schema.contains("enum")) return "";
    return fmt::format(", one of: {}",
                       fmt::join(schema["enum"].get<std::vector<std::string>>(), ", "));
  }

 public:
  /// The sibling that excludes a key (x-without names one or several); empty: none is there.
  static std::string excluded_by(const Json& schema, const Json& siblings) {
    const Json others = schema.value("x-without", Json::array());
    for (const Json& other : others.is_array() ? others : Json::array({others}))
      if (siblings.contains(other.get<std::string>())) return other;
    return "";
  }
  /// Checks a key's x-when and x-without against its siblings, which have these properties.
  static bool applies(const Json& schema, const Json& siblings, const Json& properties) {
    if (!excluded_by(schema, siblings).empty()) return false;
    const Json condition = schema.value("x-when", Json::object());
    return std::all_of(condition.items().begin(), condition.items().end(), [&](const auto& item) {
      return holds(item.key(), item.value(), siblings, properties);
    });
  }

 private:
  /// A sibling that is not there has its default, if that applies. `wanted`: values, or true for any
  /// value that somebody gave.
  static bool holds(const std::string& other, const Json& wanted, const Json& siblings,
                    const Json& properties) {
    const bool given = siblings.contains(other);
    if (!wanted.is_array()) return given;
    const Json property = properties.value(other, Json::object());
    if (!given && !(property.contains("default") && applies(property, siblings, properties)))
      return false;
    const Json& value = given ? siblings[other] : property["default"];
    return std::find(wanted.begin(), wanted.end(), value) != wanted.end();
  }
  static void check_condition(const Json& schema, const Json& siblings, const Json& properties,
                              const std::string& path) {
    if (applies(schema, siblings, properties)) return;
    const std::string excluded = excluded_by(schema, siblings);
    if (!excluded.empty())
      throw ConfigError(path, fmt::format("does not go with \"{}\"", excluded));
    for (const auto& [other, wanted] : schema["x-when"].items())
      if (!holds(other, wanted, siblings, properties))
        throw ConfigError(path,
                          wanted.is_array()
                              ? fmt::format("only goes with \"{}\": {}", other,
                                            fmt::join(wanted.get<std::vector<std::string>>(), ", "))
                              : fmt::format("only goes with \"{}\"", other));
  }

  const Json& root_;
  std::vector<ConfigError> faults_;
};

void fill(const Json& schema, Json& value) {
  for (const auto& [key, property] : schema["properties"].items()) {
    if (!value.contains(key) && property.contains("default") &&
        Explainer::applies(property, value, schema["properties"]))
      value[key] = property["default"];
    if (value.contains(key) && value[key].is_object() && property.contains("properties"))
      fill(property, value[key]);
  }
}

}  // namespace

std::string read_settings(const std::string& file, const std::string& what) {
  constexpr std::size_t kMostBytes = std::size_t{16} << 20U;
  // May be a pipe, as of `<(...)`: one that nobody has opened to write is not waited for.
  const int in = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (in >= 0) ::fcntl(in, F_SETFL, 0);
  std::string text;
  ssize_t got = in < 0 ? -1 : 0;
  for (char block[1 << 16]; in >= 0 && text.size() <= kMostBytes;) {
    got = ::read(in, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(block, static_cast<std::size_t>(got));
  }
  if (in >= 0) ::close(in);
  if (got < 0) throw ConfigError("", fmt::format("{}: cannot be read; expected {}", file, what));
  if (text.empty()) throw ConfigError("", fmt::format("{}: is empty; expected {}", file, what));
  if (text.size() > kMostBytes)
    throw ConfigError("", fmt::format("{}: expected {}, found more than 16 MiB", file, what));
  return text;
}

Json parse_json(const std::string& text, const std::string& origin) {
  std::vector<std::set<std::string>> open;  // keys of the objects being read, outermost first
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    constexpr int kDeepest = 100;  // far above any experiment, far below the end of the stack
    if (depth > kDeepest) throw ConfigError("", origin + ": nested too deeply");
    const bool is_text = event == Json::parse_event_t::key || parsed.is_string();
    if (is_text && has_control_characters(parsed.get_ref<const std::string&>()))
      throw ConfigError(
          "", fmt::format("{}: expected texts of one line without control characters, found {}",
                          origin, shown(parsed)));
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second)
      throw ConfigError(parsed.get<std::string>(), "is given twice in one object of " + origin);
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    std::string what = error.what();
    if (const auto at = what.find("parse error at "); at != std::string::npos)
      what = what.substr(at + std::string("parse error at ").size());
    const bool comment = what.find("last read: '/'") != std::string::npos ||
                         what.find("last read: '#'") != std::string::npos;
    throw ConfigError("", fmt::format("{}: no valid JSON: {}{}", origin, what,
                                      comment ? "; JSON has no comments" : ""));
  } catch (const Json::out_of_range& error) {  // a number that no double can represent
    const std::string what = error.what();
    try {
      const JsonReader tells_byte_and_key(text, origin);
    } catch (const DataError& found) {
      throw ConfigError("", found.what());
    }
    throw ConfigError("", fmt::format("{}: {}", origin, what.substr(what.find("] ") + 2)));
  }
}

const Json& experiment_schema() {
  static const Json schema =
      with_plugins(Json::parse(kExperimentSchema), partitioners(), layer_types(), strategy_infos());
  return schema;
}

namespace {

/// A schema in both its forms, parsed once: a sweep checks many files against it.
struct ParsedSchema {
  explicit ParsedSchema(const std::string& text) : explained(Json::parse(text)) {
    const nlohmann::json standard = nlohmann::json::parse(text);
    valijson::SchemaParser(valijson::SchemaParser::kDraft7)
        .populateSchema(valijson::adapters::NlohmannJsonAdapter(standard), schema);
  }
  Json explained;
  valijson::Schema schema;
};

const ParsedSchema& parsed(const std::string& text) {
  static std::mutex guard;
  static std::map<std::string, ParsedSchema> known;
  const std::lock_guard lock(guard);
  return known.try_emplace(text, text).first->second;
}

}  // namespace

void validate_against(const std::string& schema_text, const Json& value) {
  const ParsedSchema& schema = parsed(schema_text);
  Explainer(schema.explained).require_valid(value);
  // The explanation covers the keywords in use; the validator covers the standard.
  const nlohmann::json target = nlohmann::json::parse(value.dump());
  valijson::Validator validator;
  valijson::ValidationResults results;
  if (validator.validate(schema.schema, valijson::adapters::NlohmannJsonAdapter(target), &results))
    return;
  valijson::ValidationResults::Error error;
  results.popError(error);
  throw ConfigError(fmt::format("{}", fmt::join(error.context, "")), error.description);
}

void validate_against_schema(const Json& experiment) {
  static const std::string schema = experiment_schema().dump();
  validate_against(schema, experiment);
}

void fill_in_defaults(Json& experiment) { fill(experiment_schema(), experiment); }

}  // namespace orrery
