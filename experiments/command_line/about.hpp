// Facts about this program: version, revision, compiler and libraries.
#pragma once

#include <string>

namespace orrery {

/// A line with the version, and one for each library: what was built in, or how to get it.
std::string about();

}  // namespace orrery
