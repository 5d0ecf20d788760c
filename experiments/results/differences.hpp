// In what two files of settings differ.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace orrery {

/// A key that has not the same value in two files.
struct Difference {
  std::string key;        ///< its path: "model.hidden"; "experiment" if one file is no object
  std::string kept, now;  ///< the values as JSON; "absent" where the file lacks the key
};

/// All of them, those that `kept` has first.
std::vector<Difference> differences(const nlohmann::ordered_json& kept,
                                    const nlohmann::ordered_json& now);

}  // namespace orrery
