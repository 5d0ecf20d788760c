// Files that appear whole or not at all, and logs that grow by whole lines.
#pragma once

#include <filesystem>
#include <string>

namespace orrery {

/// Puts a whole file into its place: written into a temporary neighbour (its name with ".part"),
/// flushed to the disk, renamed; the new name is on the disk too when this returns. What is there
/// and no file (a pipe, a terminal) is written to as it stands; a link is followed.
///
/// Errors    Error naming the file and the system's reason; what was there before stays then
void write_file(const std::filesystem::path& file, const std::string& text);

/// Appends whole lines to a log, which is made where it is not there, and takes back what a full disk
/// took only half of. `durable`: the lines are on the disk when this returns.
///
/// Errors    Error naming the file and the system's reason
void append_to_file(const std::filesystem::path& file, const std::string& lines, bool durable);

/// Flushes a folder with all that is in it to the disk.
///
/// Errors    Error naming the file and the system's reason
void flush_folder(const std::filesystem::path& folder);

/// Flushes the folder that a file or folder lies in, and with it the name: also after a loss of power
/// it is there.
///
/// Errors    as flush_folder
void flush_name(const std::filesystem::path& path);

}  // namespace orrery
