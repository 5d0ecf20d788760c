#include "core/partition/methods/ptscotch.hpp"

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/child_process.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/temporary_folder.hpp"
#include "core/partition/methods/none.hpp"
#include "core/partition/methods/partitioner.hpp"
#include "core/partition/methods/ptscotch_job.hpp"
#include "core/partition/ptscotch_version.hpp"
#include "core/partition/vertex_weights.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

/// The program of the processes.
///
/// Errors    NotBuilt
fs::path ptscotch_program() {
  if (const auto program = program_beside("backends/ptscotch/orrery-ptscotch")) return *program;
  if (ptscotch_version() != "none")
    throw NotBuilt(
        fmt::format("partition.method: \"ptscotch\" needs the program orrery-ptscotch, which does "
                    "not lie beside {}: use orrery partition of a whole build, or metis",
                    this_program().string()));
  throw NotBuilt(
      "partition.method: \"ptscotch\" is not in this build; install libptscotch-dev, "
      "libopenmpi-dev and openmpi-bin and build again, or use metis");
}

/// The one constraint that PT-Scotch balances.
VertexWeights weights_of(const Csr& both, const PartitionOptions& options,
                         std::span<const Split> split) {
  VertexWeights weights =
      vertex_weights(both, options.metis.constraints, split, options.metis.type_counts);
  if (weights.constraints != 1)
    throw ConfigError("partition.constraints",
                      fmt::format("\"ptscotch\" balances one quantity, found {}: name one, or use "
                                  "partition.method metis",
                                  weights.constraints));
  return weights;
}

/// Array after array into one file.
class JobFile {
 public:
  explicit JobFile(const fs::path& file) : name_(file), out_(file, std::ios::binary) {}

  void write(const void* bytes, std::size_t count) {
    out_.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
  }
  template <class T>
  void write(const std::vector<T>& values) {
    write(values.data(), values.size() * sizeof(T));
  }
  /// Errors    Error: a full disk
  void close() {
    out_.close();
    if (!out_)
      throw Error(
          fmt::format("{}: cannot be written: make room there, or set TMPDIR to a folder "
                      "with more",
                      name_.string()));
  }

 private:
  fs::path name_;
  std::ofstream out_;
};

void write_job(const fs::path& file, const Csr& both, const VertexWeights& weights, int parts,
               const PartitionOptions& options) {
  std::vector<EdgeIndex> offsets{0};
  std::vector<Vertex> columns;
  columns.reserve(both.columns.size());
  for (std::int64_t v = 0; v < both.rows; ++v) {
    for (const Vertex u : both.row(v))
      if (u != v) columns.push_back(u);
    offsets.push_back(static_cast<EdgeIndex>(columns.size()));
  }
  const PtscotchJob job{both.rows, static_cast<std::int64_t>(columns.size()), parts,
                        static_cast<std::int64_t>(options.seed % 1000000007U),
                        options.ptscotch.balance};
  JobFile out(file);
  out.write(&job, sizeof job);
  out.write(offsets);
  out.write(weights.values);
  out.write(columns);
  out.close();
}

std::vector<std::int32_t> read_parts(const fs::path& file, std::size_t vertices) {
  std::vector<std::int32_t> owner(vertices, kNone);
  std::ifstream(file, std::ios::binary)
      .read(reinterpret_cast<char*>(owner.data()),
            static_cast<std::streamsize>(vertices * sizeof(std::int32_t)));
  return owner;
}

/// What a starter of jobs tells its ranks about themselves; a mpirun that finds it takes itself for a
/// rank, or asks the scheduler of the job for more machines.
constexpr std::array<std::string_view, 6> kOfJobs{"OMPI_", "ORTE_", "PMIX_",
                                                  "PMI_",  "PRTE_", "SLURM_"};

bool is_of_a_job(std::string_view variable) {
  return std::any_of(kOfJobs.begin(), kOfJobs.end(),
                     [&](std::string_view front) { return variable.starts_with(front); });
}

/// `env`, without the variables of a job that this process is a rank of. Those that users set for Open
/// MPI stay where there is no job.
std::vector<std::string> outside_of_jobs() {
  std::vector<std::string> words{"env"}, variables;
  bool in_a_job = false;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string name(*variable, std::strcspn(*variable, "="));
    if (!is_of_a_job(name)) continue;
    in_a_job = in_a_job || name == "PMIX_RANK" || name == "PMI_RANK" || name == "SLURM_PROCID";
    variables.push_back(name);
  }
  if (!in_a_job) return words;
  for (const std::string& name : variables) {
    words.emplace_back("-u");
    words.push_back(name);
  }
  return words;
}

std::vector<std::string> command(const fs::path& job, const fs::path& parts, int processes) {
  const std::string program = ptscotch_program();
  std::vector<std::string> words = outside_of_jobs();
  std::ranges::copy(mpirun_words(processes, true), std::back_inserter(words));
  words.insert(words.end(), {program, job.string(), parts.string()});
  return words;
}

/// The last words of a file: what went wrong stands at the end.
std::string end_of(const fs::path& file) {
  constexpr std::size_t kMost = 600;
  std::ifstream in(file);
  std::string text(std::istreambuf_iterator<char>(in), {});
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.size() > kMost) text = "..." + text.substr(text.size() - kMost);
  return text.empty() ? "they said nothing" : text;
}

void run_processes(const fs::path& folder, int processes) {
  constexpr int kNotFound = 127;  // of env
  const fs::path errors = folder / "errors";
  const auto run = run_program(command(folder / "job", folder / "parts", processes), errors);
  if (run && WIFEXITED(run->status) && WEXITSTATUS(run->status) == kNotFound)
    throw NotBuilt(
        "partition.method: \"ptscotch\" needs mpirun, which is not here: install openmpi-bin, or "
        "use metis");
  if (!run || !run->succeeded())
    throw Error(fmt::format("ptscotch: the job of {} processes {}: {}", processes,
                            run ? "ended with " + run->ending() : "could not be started",
                            end_of(errors)));
}

}  // namespace

Partition ptscotch_partition(const Csr& graph, int parts, const PartitionOptions& options,
                             std::span<const Split> split) {
  ptscotch_program();
  const Csr symmetrised = is_symmetric(graph) ? Csr{} : symmetrise(graph);
  const Csr& both = symmetrised.rows == 0 ? graph : symmetrised;
  const VertexWeights weights = weights_of(both, options, split);
  const auto vertices = static_cast<std::size_t>(both.rows);
  Partition result{parts, std::vector<std::int32_t>(vertices, 0)};
  if (parts == 1 || vertices == 0) return result;
  if (both.rows <= parts) {
    std::iota(result.owner.begin(), result.owner.end(), 0);
    return result;
  }
  const TemporaryFolder folder("ptscotch");
  write_job(folder.path() / "job", both, weights, parts, options);
  std::ofstream(folder.path() / "parts").close();
  run_processes(folder.path(),
                static_cast<int>(std::min<std::int64_t>(options.ptscotch.processes, both.rows)));
  result.owner = read_parts(folder.path() / "parts", vertices);
  return result;
}

std::string ptscotch_version() { return kPtscotchLibrary; }

Partitioner ptscotch_partitioner() {
  return {.name = "ptscotch",
          .description = "PT-Scotch on several processes: least edge cut",
          .assigns = Assigns::vertices,
          .drawn = true,
          .parameters = {{"processes",
                          [](const PartitionOptions& o) -> ParameterValue {
                            return std::int64_t{o.ptscotch.processes};
                          },
                          {}},
                         {"constraints",
                          [](const PartitionOptions& o) -> ParameterValue {
                            return names_of(o.metis.constraints);
                          },
                          {}},
                         {"balance",
                          [](const PartitionOptions& o) -> ParameterValue {
                            return o.ptscotch.balance;
                          },
                          {}}},
          .cut = [](const Csr& graph, int parts, const PartitionOptions& o,
                    std::span<const Split> split) {
            return ptscotch_partition(graph, parts, o, split);
          }};
}

}  // namespace orrery
