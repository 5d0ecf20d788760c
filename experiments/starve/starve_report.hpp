// What orrery starve tells: a table for people, JSON for machines.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "experiments/starve/starve_study.hpp"

namespace orrery {

/// The stages, which of them limits, and what was tried, on standard output. `name`: of the experiment.
void print_starving(const std::string& name, const StarveStudy& study);

/// What --json prints (experiments/config/schemas/starve.json), but for "other_work".
nlohmann::ordered_json starving_json(const std::string& name, const StarveStudy& study);

}  // namespace orrery
