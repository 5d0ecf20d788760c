#include "core/graph/read/load.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/graph/files/checksum.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kBlock = 16 << 20;  // bytes

/// The checksums of the blocks of an array, one after the other. An empty array has that of an
/// empty block, so that arrays stay separate.
template <class T>
std::string checksums(const std::vector<T>& values) {
  const std::string_view bytes(reinterpret_cast<const char*>(values.data()),
                               values.size() * sizeof(T));
  const auto size = static_cast<std::int64_t>(bytes.size());
  std::vector<std::string> blocks(at(std::max<std::int64_t>(1, (size + kBlock - 1) / kBlock)));
  parallel_for(std::ssize(blocks), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      blocks[at(i)] = checksum(bytes.substr(at(i * kBlock), at(kBlock)));
  });
  std::string all;
  for (const std::string& block : blocks) all += block;
  return all;
}

/// Of some rows, spread evenly: features may be large, and on disk.
std::string checksums_of_some_rows(const Features& features) {
  constexpr std::int64_t kRows = 64;
  std::vector<Vertex> rows;
  const std::int64_t count = std::min(kRows, features.rows());
  for (std::int64_t i = 0; i < count; ++i)
    rows.push_back(static_cast<Vertex>(i * features.rows() / count));
  std::vector<float> values(at(count * features.width()));
  features.read(rows, 0, features.width(), values.data(), features.width());
  return checksum(std::to_string(features.width())) + checksums(values);
}

}  // namespace

std::string fingerprint_of(const Dataset& data) {
  std::string all = checksums(data.graph->offsets);
  all += checksums(data.graph->columns);
  if (data.typed)
    for (const Relation& relation : data.typed->relations) {
      all += checksum(relation.text());
      all += checksums(relation.graph->offsets);
      all += checksums(relation.graph->columns);
    }
  all += checksums(data.labels.values);
  all += checksums(data.split);
  if (data.features) all += checksums_of_some_rows(*data.features);
  return checksum(all);
}

}  // namespace orrery
