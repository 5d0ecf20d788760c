// Device profiles as files: JSON in which every number has its source.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/price/price_errors.hpp"
#include "sim/price/profile.hpp"

namespace orrery {

/// Which efficiencies of a roofline a profile has: those that its file states, or one end of all
/// their ranges.
enum class Efficiencies : std::uint8_t { stated, lowest, highest };

/// Builds a profile from a parsed file.
///
/// Errors    ConfigError with the key's path: unknown keys, kinds and axes (with the nearest), bad
///           values, tables that are no grid, ranges that leave out what is stated; an end of the
///           ranges of a measured profile, or of one that lacks some
sim::DeviceProfile make_profile(const nlohmann::ordered_json& file,
                                Efficiencies which = Efficiencies::stated);

/// Reads FILE, or the shipped configs/devices/NAME.json.
/// Errors    as make_profile, each naming the file; ConfigError for an unknown name
sim::DeviceProfile load_profile(const std::string& file_or_name,
                                Efficiencies which = Efficiencies::stated);

/// How far the prices of a parsed and valid file are off: its "errors"; kinds that these leave out,
/// such as those that no training of the calibration has, are off by what their tables are at points
/// that were left out of them, in the mean over the kind's tables.
///
/// Errors    ConfigError: an unknown kind, with the nearest
sim::PriceErrors make_price_errors(const nlohmann::ordered_json& file);

/// The same of FILE, or of the shipped configs/devices/NAME.json.
/// Errors    as load_profile
sim::PriceErrors load_price_errors(const std::string& file_or_name);

/// Names of the profiles that ship, sorted.
std::vector<std::string> shipped_profiles();

/// Refuses a factor for what no profile prices: known are "*", kinds of local operations and their
/// variants, and tasks of hosts.
/// Errors    ConfigError with the path and the nearest known one
void require_scalable(const std::string& path, const std::string& kind);

/// The source of the number at a key's path: "libraries.mpi.message_seconds".
using SourceOf = std::function<std::string(const std::string& path)>;

/// The file of a profile; make_profile() reads it back.
nlohmann::ordered_json profile_json(const sim::DeviceProfile& profile,
                                    const std::string& description, const SourceOf& source_of);

/// "errors" of a profile's file, such that make_price_errors() gives them back.
nlohmann::ordered_json price_errors_json(const sim::PriceErrors& errors, const SourceOf& source_of);

/// JSON text on lines of at most 110 characters where it can be broken: the form of files that
/// people read.
std::string pretty(const nlohmann::ordered_json& value);

}  // namespace orrery
