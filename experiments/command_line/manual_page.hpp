// The manual page.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace orrery {

/// All commands with their options as a page for man(1), in the macros of man(7).
std::string manual_page(const CLI::App& app);

}  // namespace orrery
