// Commands whose work is done by a Python script of analysis/.
#pragma once

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

}  // namespace orrery
