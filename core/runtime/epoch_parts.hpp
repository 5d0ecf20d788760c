// The parts of an epoch's time, and the one table that names them.
#pragma once

#include <array>
#include <map>
#include <string>

namespace orrery {

/// Where the time of one epoch went on one rank. Every instant belongs to exactly one of the first
/// fields: to computation if a computing lane is busy, else to the communication that is under way
/// (exposed), else to `other` (host, idle). An operation among ranks of several servers is partly
/// `internal` and partly `external`, according to its messages and its waiting (exchange_time.hpp).
/// Its exposed and hidden time divide in the same proportion. In seconds.
struct Breakdown {
  double compute = 0, internal = 0, external = 0, synchronise = 0, sample = 0, load = 0, other = 0;
  double hidden = 0;  ///< communication under way during computation; not part of the sum
  std::map<std::string, double> compute_by_kind;  ///< busy seconds of computing ops by kind

  /// Sum of the parts among which every instant is divided.
  double total() const;
  bool operator==(const Breakdown&) const = default;
};

/// A part of an epoch and its names in results and tables.
struct EpochPart {
  const char* key;  ///< in results
  double Breakdown::*seconds;
  const char* header;  ///< name of its column in the table of a report
  const char* words;
  bool communication;
  bool in_sum;
};

/// Every part, in the order in which results and tables show them.
inline constexpr std::array<EpochPart, 8> kEpochParts{
    {{"compute", &Breakdown::compute, "compute", "computation", false, true},
     {"internal", &Breakdown::internal, "internal", "inside servers", true, true},
     {"external", &Breakdown::external, "external", "between servers", true, true},
     {"synchronise", &Breakdown::synchronise, "gradients", "averaging gradients", true, true},
     {"sample", &Breakdown::sample, "sample", "sampling", false, true},
     {"load", &Breakdown::load, "load", "loading", false, true},
     {"other", &Breakdown::other, "other", "waiting", false, true},
     {"hidden", &Breakdown::hidden, "(hidden)", "hidden by computation", true, false}}};
static_assert(sizeof(Breakdown) ==
                  kEpochParts.size() * sizeof(double) + sizeof(std::map<std::string, double>),
              "every part stands in the table");

inline double Breakdown::total() const {
  double sum = 0;
  for (const EpochPart& part : kEpochParts)
    if (part.in_sum) sum += this->*part.seconds;
  return sum;
}

}  // namespace orrery
