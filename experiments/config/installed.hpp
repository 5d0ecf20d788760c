// Where the shipped files are: beside an installed program, else in the source tree.
#pragma once

#include <filesystem>
#include <string>

namespace orrery {

/// The folder with configs/, analysis/ and experiments/netcluster: PREFIX/share/orrery of an
/// installed program, even if PREFIX has moved, else the source tree that it was built from.
std::filesystem::path shipped_root();

/// The command that starts Orrery, with its whole path: PREFIX/bin/orrery, else the launcher of the
/// source tree.
std::filesystem::path launcher();

/// The command that starts Orrery for the user: "orrery" if the installed one is found by its name,
/// else PREFIX/bin/orrery; in a source tree the word that the program was called by.
std::string program_as_called();

/// Where measurements of this machine are written for later simulations: configs/ of the working
/// directory or of the source tree. If neither can be written: orrery/configs below $XDG_DATA_HOME
/// (~/.local/share).
std::filesystem::path machine_configs();

/// The last of these, even if it does not exist; empty without a home.
std::filesystem::path own_configs();

}  // namespace orrery
