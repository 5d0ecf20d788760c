#include "core/partition/kept/cut_key.hpp"

#include <gnu/libc-version.h>

#include <nlohmann/json.hpp>

#include "core/partition/kept/digest.hpp"
#include "core/partition/methods/metis.hpp"
#include "core/partition/methods/partitioner.hpp"
#include "core/partition/methods/ptscotch.hpp"

namespace orrery {
namespace {

/// METIS draws from the C library's random numbers. The compiler decides how sums are rounded, and
/// streaming methods compare sums.
void add_versions(Digest& digest) {
  digest.add(std::int64_t{kCutsVersion});
  digest.add(metis_version());
  digest.add(std::string_view(::gnu_get_libc_version()));
  digest.add(std::string_view(__VERSION__));
}

void add_data(Digest& digest, const Dataset& data) {
  digest.add(data.graph->rows);
  digest.add(data.graph->cols);
  digest.add(data.graph->offsets);
  digest.add(data.graph->columns);
  digest.add(data.split);
  if (data.typed == nullptr) return;
  for (const VertexType& type : data.typed->types) digest.add(type.count);
}

}  // namespace

std::string key_of_cut(const Dataset& data, int parts, const PartitionOptions& options) {
  Digest digest;
  digest.add(std::string_view("a cut of a graph"));
  add_versions(digest);
  digest.add(options.method);
  if (options.method == "ptscotch") digest.add(ptscotch_version());
  digest.add(method_parameters(options).dump());
  digest.add(std::int64_t{parts});
  add_data(digest, data);
  return digest.text();
}

}  // namespace orrery
