#include "core/partition/kept/cut_file.hpp"

#include <fmt/core.h>

#include <cmath>
#include <cstring>
#include <sstream>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/files/checksum.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kLongestLine = 160;

/// How the first line begins; seconds and checksums follow.
std::string beginning(const CutName& name) {
  return fmt::format("orrery-cut 1 {} parts {} vertices {} ", name.key, name.parts, name.vertices);
}

/// With the checksums of what is before them and of what follows the line.
std::string first_line(const CutName& name, double seconds, std::string_view owners) {
  const std::string told = fmt::format("{}seconds {:.3f} ", beginning(name), seconds);
  return fmt::format("{}checksums {} {}\n", told, checksum(told), checksum(owners));
}

std::string_view bytes_of_owners(const std::vector<std::int32_t>& owner) {
  return {reinterpret_cast<const char*>(owner.data()), owner.size() * sizeof(owner[0])};
}

/// The seconds in the first line; negative if there are none.
double seconds_in(const std::string& line, std::size_t behind) {
  std::istringstream in(line.substr(behind));
  std::string word;
  double seconds = -1;
  return in >> word >> seconds && word == "seconds" && std::isfinite(seconds) ? seconds : -1;
}

}  // namespace

std::int64_t most_cut_bytes(const CutName& name) {
  return kLongestLine + name.vertices * static_cast<std::int64_t>(sizeof(std::int32_t));
}

std::string cut_bytes(const CutName& name, const CutInFile& cut) {
  ORRERY_ASSERT(std::ssize(cut.owner) == name.vertices);
  const std::string_view owners = bytes_of_owners(cut.owner);
  std::string bytes = first_line(name, cut.seconds, owners);
  return bytes.append(owners);
}

CutInFile parse_cut(const std::string& bytes, const CutName& name, const std::string& file) {
  const auto refuse = [&](const std::string& why) { throw DataError(file, "", why); };
  const std::string begins = beginning(name);
  const std::size_t line_end = bytes.substr(0, at(kLongestLine)).find('\n');
  if (line_end == std::string::npos || !bytes.starts_with(begins))
    refuse(fmt::format("expected a cut that begins with \"{}\", found another file", begins));
  const std::string line = bytes.substr(0, line_end + 1);
  const std::string_view owners = std::string_view(bytes).substr(line_end + 1);
  CutInFile cut{std::vector<std::int32_t>(at(name.vertices)), seconds_in(line, begins.size())};
  const std::size_t expected = bytes_of_owners(cut.owner).size();
  if (owners.size() != expected)
    refuse(fmt::format("expected {} bytes of owners, found {}", expected, owners.size()));
  if (cut.seconds < 0 || line != first_line(name, cut.seconds, owners))
    refuse("is damaged: its first line does not fit what follows");
  std::memcpy(cut.owner.data(), owners.data(), expected);
  for (std::size_t v = 0; v < cut.owner.size(); ++v)
    if (cut.owner[v] < 0 || cut.owner[v] >= name.parts)
      refuse(fmt::format("expected parts from 0 to {}, found {} for vertex {}", name.parts - 1,
                         cut.owner[v], v));
  return cut;
}

}  // namespace orrery
