#include "core/runtime/recording.hpp"

#include <algorithm>

#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/runtime/recorder.hpp"

namespace orrery {
namespace {

/// Adds up the loads of epochs.
class LoadCounter final : public RunObserver {
 public:
  explicit LoadCounter(Program& program) : program_(program) {}
  bool epochs_done(std::span<const EpochReport> reports) override {
    for (const EpochReport& report : reports) {
      program_.loads += report.loads;
      program_.foreign_rows += report.rows.foreign;
      program_.kept_rows += report.rows.kept;
    }
    return true;
  }

 private:
  Program& program_;
};

}  // namespace

int epochs_to_record(const Body& body) {
  return std::min(std::max(2, body.period()), body.epochs());
}

Program record_rank(const Body& body, int rank, int epochs, const Capacities& capacities,
                    bool keeps_steps) {
  Recorder recorder({rank, body.ranks(), capacities, keeps_steps});
  Program counted;
  LoadCounter counter(counted);
  RunControl control;
  control.epochs = epochs;
  body.run(recorder, counter, control);
  Program program = recorder.program();
  program.loads = counted.loads;
  program.foreign_rows = counted.foreign_rows;
  program.kept_rows = counted.kept_rows;
  return program;
}

std::vector<Program> record_ranks(const Body& body, int epochs, const Capacities& capacities) {
  std::vector<Program> programs(static_cast<std::size_t>(body.ranks()));
  parallel_for(body.ranks(), 1, [&](std::int64_t rank, std::int64_t) {
    programs[at(rank)] = record_rank(body, static_cast<int>(rank), epochs, capacities);
  });
  return programs;
}

Programs record_shared(const Body& body, int epochs, const Capacities& capacities,
                       bool keeps_steps) {
  std::vector<int> representatives;  // each once, in ascending order
  Programs programs(static_cast<std::size_t>(body.ranks()));
  for (int rank = 0; rank < body.ranks(); ++rank)
    if (body.representative(rank) == rank) representatives.push_back(rank);
  const auto entry = [&](int rank) -> auto& { return programs[at(rank)]; };
  parallel_for(static_cast<std::int64_t>(representatives.size()), 1,
               [&](std::int64_t i, std::int64_t) {
                 const int rank = representatives[at(i)];
                 entry(rank) = std::make_shared<const Program>(
                     record_rank(body, rank, epochs, capacities, keeps_steps));
               });
  for (int rank = 0; rank < body.ranks(); ++rank) entry(rank) = entry(body.representative(rank));
  return programs;
}

}  // namespace orrery
