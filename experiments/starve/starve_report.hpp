// The output of orrery starve: a table for people, JSON for machines.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "experiments/starve/starve_study.hpp"

namespace orrery {

/// Prints the stages, the limiting one, and the tries to standard output. `name`: of the
/// experiment.
void print_starving(const std::string& name, const StarveStudy& study);

/// The output of --json (experiments/config/schemas/starve.json), without "other_work".
nlohmann::ordered_json starving_json(const std::string& name, const StarveStudy& study);

}  // namespace orrery
