// The report of `orrery dataset sample-check`.
#pragma once

#include <string>

#include "core/graph/csr.hpp"
#include "core/sample/sample_check.hpp"

namespace orrery {

/// Checks the samples of one layer in a .npy file, int64 [edges, 3] with columns (draw, row,
/// neighbour), prints the findings, and says whether the samples follow their rule.
///
/// Errors    DataError: the file cannot be read, or has another type or shape
bool report_samples(const Csr& graph, const std::string& samples, const CheckedRule& rule,
                    bool as_json);

}  // namespace orrery
