// The fuzzed targets: one reader each, given arbitrary bytes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::fuzz {

/// One reader with inputs to begin from.
struct Target {
  std::string name;
  /// Reads the input as a user's file. Returns, or throws an orrery::Error; every other end is a
  /// fault of ours.
  std::function<void(std::string_view input)> read;
  /// Valid inputs, made by our own writers where there are such, so that they follow the formats.
  std::function<std::vector<std::string>()> seeds;
  /// Words of the format that random bytes would not hit upon.
  std::vector<std::string> words = {};
};

/// All of them.
const std::vector<Target>& targets();
/// Errors    std::runtime_error that lists the names
const Target& target(const std::string& name);

/// The targets of each kind of input.
std::vector<Target> graph_targets();
std::vector<Target> parts_targets();
std::vector<Target> inference_targets();
std::vector<Target> kept_targets();
std::vector<Target> config_targets();
std::vector<Target> message_targets();

}  // namespace orrery::fuzz
