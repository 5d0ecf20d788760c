// A cut from a file.
#include <fmt/core.h>

#include <sstream>

#include "core/base/error.hpp"
#include "core/graph/files/bytes_of.hpp"
#include "core/partition/methods/partitioner.hpp"

namespace orrery {
namespace {

Partition read_partition(const std::string& file, std::int64_t n, int parts) {
  std::istringstream in(bytes_of(file));
  Partition p{parts, {}};
  std::string line;
  bool ends_in_a_line_end = false;
  for (std::int64_t number = 1; std::getline(in, line); ++number) {
    ends_in_a_line_end = !in.eof();
    std::size_t used = 0;
    long owner = -1;
    try {
      owner = std::stol(line, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || line.find_first_not_of(" \t\r", used) != std::string::npos || owner < 0 ||
        owner >= parts)
      throw DataError(
          file, fmt::format("line {}", number),
          fmt::format("expected a part from 0 to {}, found \"{}\"", parts - 1, line.substr(0, 40)));
    p.owner.push_back(static_cast<std::int32_t>(owner));
  }
  if (static_cast<std::int64_t>(p.owner.size()) != n)
    throw DataError(file, fmt::format("line {}", p.owner.size()),
                    fmt::format("expected {} lines, one per vertex, found {}", n, p.owner.size()));
  if (n > 0 && !ends_in_a_line_end)
    throw DataError(file, fmt::format("line {}", n),
                    "expected a line end behind the last part, found the end of the file: it may "
                    "be cut short within a number");
  return p;
}

}  // namespace

Partitioner file_partitioner() {
  return {.name = "file",
          .description = "one owner per line of a file",
          .compared = false,
          .parameters = {{"file",
                          [](const PartitionOptions& o) -> ParameterValue { return o.file; },
                          {}}},
          .cut = [](const Csr& graph, int parts, const PartitionOptions& o,
                    std::span<const Split>) { return read_partition(o.file, graph.rows, parts); }};
}

}  // namespace orrery
