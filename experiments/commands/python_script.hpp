// Commands whose work is done by a Python script of analysis/.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace orrery {

/// Becomes the script analysis/<script> of the source tree, run with these arguments by the first
/// Python that has the modules: $ORRERY_PYTHON alone where it is set, else python3 of the path,
/// else /usr/bin/python3.
///
/// Errors    Error naming the Debian packages that are missing
[[noreturn]] void become_python_script(const std::string& script,
                                       const std::vector<std::string>& arguments,
                                       const std::vector<std::string>& modules);

/// Runs the script, which needs no modules, and waits for it; it reads `told` from its standard
/// input.
///
/// Errors    Error: no Python · what the script said on standard output, where it failed
void run_python_script(const std::string& script, const std::vector<std::string>& arguments,
                       const nlohmann::ordered_json& told);

}  // namespace orrery
