// Checks JSON against the experiment schema, with readable messages, and fills in its defaults.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace orrery {

/// Parses JSON text without duplicate keys.
///
/// Errors    ConfigError with line and column
nlohmann::ordered_json parse_json(const std::string& text, const std::string& origin);

/// The text of a file that people write: an experiment, a cluster, a device profile.
///
/// Errors    ConfigError naming the file: it cannot be read, is a folder or empty, or has more than
///           16 MiB
std::string read_settings(const std::string& file, const std::string& what);

/// The schema that the program was built with, with the additions of plugins.
///
/// Errors    ConfigError of partitioners(), layer_types() and with_plugins()
const nlohmann::ordered_json& experiment_schema();

/// Checks an experiment against its schema.
///
/// Errors    as validate_against
void validate_against_schema(const nlohmann::ordered_json& experiment);

/// Checks a value against one of our schemas, given as text.
///
/// Errors    ConfigError for the first fault: "strategy.type: found "spmm1d", allowed: ... Did
///           you mean ...?", with a line below for each fault of another key
void validate_against(const std::string& schema, const nlohmann::ordered_json& value);

/// Adds every default that applies, in schema order.
void fill_in_defaults(nlohmann::ordered_json& experiment);

}  // namespace orrery
