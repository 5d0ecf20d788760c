#include "experiments/predict/servers/reading.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "core/base/index.hpp"
#include "core/partition/number_of_parts.hpp"
#include "core/partition/parts/partitioned_dataset.hpp"
#include "core/runtime/read_files.hpp"
#include "experiments/predict/simulate.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

/// Every rank reads its bytes in one task.
class ReadingBody final : public Body {
 public:
  explicit ReadingBody(BytesOfRanks bytes) : bytes_(std::move(bytes)) {}

  int ranks() const override { return static_cast<int>(bytes_.size()); }
  int epochs() const override { return 1; }
  void run(Runtime& rt, RunObserver& observer, const RunControl&) const override {
    rt.phase({Stage::load, 0});
    if (const std::int64_t bytes = bytes_[at(rt.rank())]; bytes > 0)
      rt.join(rt.host(Lane::host, [bytes] { return HostWork{std::string(kReadFiles), 1, bytes}; }));
    rt.phase({Stage::evaluate, 0});  // ends the epoch's time
    const EpochReport report{0, std::nullopt, std::nullopt};
    observer.epochs_done({&report, 1});
  }

 private:
  BytesOfRanks bytes_;
};

}  // namespace

BytesOfRanks by_each_server(const Experiment& experiment, std::int64_t bytes) {
  const Placement placement = experiment.placement();
  BytesOfRanks read(at(experiment.ranks()), 0);
  for (int rank = 0; rank < experiment.ranks(); ++rank)
    if (placement.place_of(rank) == 0) read[at(rank)] = bytes;
  return read;
}

BytesOfRanks by_first_server(const Experiment& experiment, std::int64_t bytes) {
  BytesOfRanks read(at(experiment.ranks()), 0);
  read.front() = bytes;
  return read;
}

BytesOfRanks by_owners(const Experiment& experiment, const BytesOfRanks& parts) {
  const auto ranks = at(experiment.ranks());
  BytesOfRanks read(ranks, 0);
  for (std::size_t part = 0; part < parts.size(); ++part)
    if (parts.size() >= ranks) read[part % ranks] += parts[part];
  for (std::size_t rank = 0; rank < ranks; ++rank)
    if (parts.size() < ranks) read[rank] = parts[rank * parts.size() / ranks];
  return read;
}

std::int64_t bytes_below(const fs::path& folder) {
  std::int64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) bytes += static_cast<std::int64_t>(entry.file_size());
  return bytes;
}

double storage_seconds(const Experiment& experiment, const BytesOfRanks& bytes,
                       Simulator& simulator) {
  const ReadingBody body(bytes);
  const PricedRun run = price_run(body, experiment);
  double last = 0;
  for (const RankOutcome& rank : replay(run, body, experiment, simulator).outcome.ranks)
    last = std::max(last, rank.epochs.front().seconds);
  return last;
}

nlohmann::ordered_json loading_json(const PreparedExperiment& prepared, Simulator& simulator) {
  const Experiment& experiment = prepared.experiment;
  if (!experiment.cluster->storage.has_rate()) return nullptr;
  const bool of_parts = prepared.problem->stored != nullptr;
  BytesOfRanks bytes;
  if (of_parts) {
    BytesOfRanks parts(prepared.problem->stored->sizes().size());
    for (std::size_t part = 0; part < parts.size(); ++part)
      parts[part] = bytes_below(part_folder(experiment.parts, static_cast<int>(part)));
    bytes = by_owners(experiment, parts);
  } else {
    bytes = by_each_server(experiment, data_bytes(prepared.problem->facts()));
  }
  return {{"reads", of_parts ? "parts" : "data set"},
          {"bytes", std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0})},
          {"seconds", storage_seconds(experiment, bytes, simulator)}};
}

}  // namespace orrery
