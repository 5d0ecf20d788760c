// Files that appear whole or not at all, and logs that grow by whole lines.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace orrery {

/// Puts a whole file in its place: it is written into a temporary neighbour (its name with
/// ".part"), flushed to the disk, and renamed. On return the new name is on the disk, too. An
/// existing target that is no file (a pipe, a terminal) is written directly; a link is followed. One
/// that another process writes at this moment is waited for, and then replaced.
///
/// Errors    Error naming the file and the system's reason; the old file then stays
void write_file(const std::filesystem::path& file, const std::string& text);
/// The same of pieces that follow each other, without a copy of them.
void write_file(const std::filesystem::path& file, std::span<const std::string_view> pieces);

/// Whether a path still names what was opened; a link is not followed.
bool is_at(int descriptor, const std::filesystem::path& path);

/// Appends whole lines to a log, which is created if it is missing. If a full disk takes only half
/// of them, that half is removed. `durable`: the lines are on the disk on return.
///
/// Errors    Error naming the file and the system's reason
void append_to_file(const std::filesystem::path& file, const std::string& lines, bool durable);

/// Flushes what was appended to a file before.
///
/// Errors    Error naming the file and the system's reason
void flush_file(const std::filesystem::path& file);

/// Flushes a folder and everything in it to the disk.
///
/// Errors    Error naming the file and the system's reason
void flush_folder(const std::filesystem::path& folder);

/// Flushes the folder that contains a file or folder, and with it the name, which then survives a
/// loss of power.
///
/// Errors    as flush_folder
void flush_name(const std::filesystem::path& path);

}  // namespace orrery
