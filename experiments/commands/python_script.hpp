// Commands that run a Python script of analysis/.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace orrery {

/// Becomes the script analysis/<script> of the source tree, run with these arguments by the first
/// Python that has the modules: $ORRERY_PYTHON alone where it is set, else python3 of the path,
/// else /usr/bin/python3, else that of .venv, which ./orrery python makes.
///
/// Errors    Error naming the packages that are missing
[[noreturn]] void become_python_script(const std::string& script,
                                       const std::vector<std::string>& arguments,
                                       const std::vector<std::string>& modules);

/// Runs the script, and waits for it; it reads `told` from its standard input.
///
/// Errors    Error: no Python with the modules · what the script said on standard output, where it
///           failed
void run_python_script(const std::string& script, const std::vector<std::string>& arguments,
                       const nlohmann::ordered_json& told,
                       const std::vector<std::string>& modules = {});

/// The words that start the script, for who talks to it while it runs.
///
/// Errors    as become_python_script()
std::vector<std::string> python_command(const std::string& script,
                                        const std::vector<std::string>& arguments,
                                        const std::vector<std::string>& modules);

}  // namespace orrery
