// What this program is: version, revision, compiler, and the libraries that it has.
#pragma once

#include <string>

namespace orrery {

/// A line on the version, and one for each library: which was built in, or how to get it.
std::string about();

}  // namespace orrery
