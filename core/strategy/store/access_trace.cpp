#include "core/strategy/store/access_trace.hpp"

#include <fmt/core.h>

#include <array>
#include <limits>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/whole_file.hpp"
#include "core/graph/files/npy.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kColumns = 4;  // rank, epoch, step, end

template <class T>
std::string array_bytes(const std::vector<std::int64_t>& shape, std::int64_t elements) {
  std::string bytes = npy_header_bytes(npy_dtype<T>(), shape);
  bytes.reserve(bytes.size() + at(elements) * sizeof(T));
  return bytes;
}

template <class T>
void append(std::string& bytes, std::span<const T> values) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

[[noreturn]] void refuse(const NpyArray& file, std::int64_t line, const std::string& problem) {
  throw DataError(file.path(), fmt::format("batch {}", line), problem);
}

}  // namespace

AccessTrace accesses_of(const SampledBatches& batches, int rank,
                        const std::vector<AccessTrace::Step>& steps) {
  AccessTrace trace;
  for (const AccessTrace::Step& step : steps) {
    const std::vector<Vertex> rows = batches.foreign(rank, step.epoch, step.number);
    trace.rows.insert(trace.rows.end(), rows.begin(), rows.end());
    trace.batches.push_back({step, trace.rows.size()});
  }
  return trace;
}

AccessTrace accesses_of(const SampledBatches& batches, int rank, int epochs) {
  std::vector<AccessTrace::Step> steps;
  for (int epoch = 0; epoch < epochs; ++epoch)
    for (int step = 0; step < batches.steps(); ++step) steps.push_back({epoch, step});
  return accesses_of(batches, rank, steps);
}

std::int64_t write_accesses(const std::filesystem::path& folder,
                            const std::vector<AccessTrace>& ranks) {
  std::int64_t rows = 0, batches = 0;
  for (const AccessTrace& trace : ranks) {
    rows += std::ssize(trace.rows);
    batches += std::ssize(trace.batches);
  }
  std::string accesses = array_bytes<Vertex>({rows}, rows),
              lines = array_bytes<std::int64_t>({batches, kColumns}, batches * kColumns);
  std::int64_t before = 0;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    append(accesses, std::span(ranks[rank].rows));
    for (const auto& [step, end] : ranks[rank].batches) {
      const std::array<std::int64_t, kColumns> line{static_cast<std::int64_t>(rank), step.epoch,
                                                    step.number,
                                                    before + static_cast<std::int64_t>(end)};
      append(lines, std::span<const std::int64_t>(line));
    }
    before += std::ssize(ranks[rank].rows);
  }
  write_file(folder / kAccesses, accesses);
  write_file(folder / kAccessBatches, lines);
  return std::ssize(accesses) + std::ssize(lines);
}

std::vector<AccessTrace> read_accesses(const std::filesystem::path& folder,
                                       const RowOwners& owners) {
  const NpyArray accesses(folder / kAccesses), lines(folder / kAccessBatches);
  const auto rows = accesses.values<Vertex>({-1});
  const auto batches = lines.values<std::int64_t>({-1, kColumns});
  if (batches.empty()) throw DataError(lines.path(), "", "has no batches");
  std::vector<AccessTrace> ranks(at(owners.ranks));
  std::int64_t begin = 0, last = 0;
  for (std::int64_t b = 0; b < std::ssize(batches) / kColumns; ++b) {
    const auto line = batches.subspan(at(b * kColumns), kColumns);
    const std::int64_t rank = line[0], end = line[3];
    if (rank < last || rank >= owners.ranks)
      refuse(lines, b,
             fmt::format(
                 "found rank {}, expected {} ranks in ascending order: it is of another number "
                 "of ranks",
                 rank, owners.ranks));
    for (const std::int64_t number : {line[1], line[2]})
      if (number < 0 || number > std::numeric_limits<int>::max())
        refuse(lines, b, fmt::format("found {} as an epoch or step", number));
    if (end < begin || end > std::ssize(rows))
      refuse(lines, b,
             fmt::format("found {} as the end of its rows, expected {} to {}", end, begin,
                         std::ssize(rows)));
    AccessTrace& trace = ranks[at(rank)];
    for (const Vertex v : rows.subspan(at(begin), at(end - begin))) {
      if (v < 0 || v >= std::ssize(owners.owner))
        refuse(lines, b,
               fmt::format("has row {}, but the graph has {} vertices: it is of another graph", v,
                           owners.owner.size()));
      if (owners.owner_of(v) == rank)
        refuse(lines, b,
               fmt::format("asks for row {}, which rank {} has itself: it is of another partition",
                           v, rank));
      trace.rows.push_back(v);
    }
    trace.batches.push_back(
        {{static_cast<int>(line[1]), static_cast<int>(line[2])}, trace.rows.size()});
    begin = end;
    last = rank;
  }
  if (begin != std::ssize(rows))
    throw DataError(accesses.path(), "",
                    fmt::format("has {} rows, but the batches end at {}", rows.size(), begin));
  return ranks;
}

}  // namespace orrery
