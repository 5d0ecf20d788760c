// The file of a kept cut: a line that says what it is, then a number per vertex.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery {

/// What tells the cut of a file from others.
struct CutName {
  std::string key;  ///< key_of_cut()
  int parts = 1;
  std::int64_t vertices = 0;
};

struct CutInFile {
  std::vector<std::int32_t> owner;
  double seconds = 0;  ///< how long it took to make
};

/// The most bytes that the file of such a cut has.
std::int64_t most_cut_bytes(const CutName& name);

/// The bytes of the file: one line of text, then the owners as int32 in the order of the machine.
///
/// Requires  name.vertices owners
std::string cut_bytes(const CutName& name, const CutInFile& cut);

/// The inverse; `file` is for errors.
///
/// Errors    DataError: not the file of this cut, of another size, or damaged
CutInFile parse_cut(const std::string& bytes, const CutName& name, const std::string& file);

}  // namespace orrery
