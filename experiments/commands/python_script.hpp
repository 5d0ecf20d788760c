// Commands that run a Python script of analysis/.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace orrery {

/// Replaces this process by the script analysis/<script> of the source tree, run with these
/// arguments by the first Python that has the modules: only $ORRERY_PYTHON if it is set, else
/// python3 on the path, else /usr/bin/python3.
///
/// Errors    Error naming the missing Debian packages
[[noreturn]] void become_python_script(const std::string& script,
                                       const std::vector<std::string>& arguments,
                                       const std::vector<std::string>& modules);

/// Runs the script, which needs no modules, and waits for it; it reads `told` from its standard
/// input.
///
/// Errors    Error: no Python · the script's standard output, if it failed
void run_python_script(const std::string& script, const std::vector<std::string>& arguments,
                       const nlohmann::ordered_json& told);

}  // namespace orrery
