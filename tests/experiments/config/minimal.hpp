// The shortest experiment file.
#pragma once

#include <string>

namespace orrery {

inline const std::string kMinimal = R"({"name": "n", "dataset": {"generate": "rmat"},
  "model": {"type": "gcn"}, "strategy": {"type": "full_graph"}})";

}  // namespace orrery
