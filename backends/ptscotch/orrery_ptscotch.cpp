// One of the processes that cut a graph together with PT-Scotch, for the method "ptscotch":
//   mpirun -n 2 orrery-ptscotch JOB PARTS
// JOB is as in ptscotch_job.hpp; PARTS is there and gets the part of every vertex. Each process reads, holds and writes its
// own block of rows alone. It is a program of its own, because a program that links MPI must be started as a part of a job.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>
// After mpi.h and cstdio, which it needs.
#include <scotch/ptscotch.h>

#include "core/partition/methods/ptscotch_job.hpp"

namespace orrery {
namespace {

/// Number of seeds to try if the tolerance is not met at once.
constexpr int kTries = 4;

void require(bool holds, const std::string& otherwise) {
  if (!holds) throw std::runtime_error(otherwise);
}

/// A file, read and written at positions.
class File {
 public:
  File(const std::string& name, int flags) : name_(name), number_(::open(name.c_str(), flags)) {
    require(number_ >= 0, name_ + " cannot be opened");
  }
  ~File() { ::close(number_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  template <class T>
  std::vector<T> read(std::int64_t position, std::int64_t count) const {
    std::vector<T> values(static_cast<std::size_t>(count));
    auto* to = reinterpret_cast<char*>(values.data());
    for (std::size_t left = values.size() * sizeof(T); left > 0;) {
      const ssize_t n = ::pread(number_, to, left, position);
      require(n > 0, name_ + " ends too early");
      to += n, position += n, left -= static_cast<std::size_t>(n);
    }
    return values;
  }

  void write(std::int64_t position, std::span<const std::int32_t> values) const {
    const auto* from = reinterpret_cast<const char*>(values.data());
    for (std::size_t left = values.size_bytes(); left > 0;) {
      const ssize_t n = ::pwrite(number_, from, left, position);
      require(n > 0, name_ + " cannot be written");
      from += n, position += n, left -= static_cast<std::size_t>(n);
    }
  }

 private:
  std::string name_;
  int number_;
};

/// The numbers as PT-Scotch was built to have them.
template <class T>
std::vector<SCOTCH_Num> numbers(const std::vector<T>& values, T less = 0) {
  std::vector<SCOTCH_Num> converted;
  converted.reserve(values.size());
  for (const T value : values) converted.push_back(static_cast<SCOTCH_Num>(value - less));
  return converted;
}

/// Every count and the sum of all weights must be a number of the library.
void require_small_enough(const PtscotchJob& job, const File& file) {
  constexpr std::int64_t kMost = std::numeric_limits<SCOTCH_Num>::max();
  std::int64_t largest = std::max(job.vertices, job.entries), weight = 0;
  if (largest <= kMost)
    for (const std::int32_t one : file.read<std::int32_t>(job.weight_at(0), job.vertices))
      weight += one;
  largest = std::max(largest, weight);
  require(largest <= kMost, "the graph has " + std::to_string(job.vertices) + " vertices, " +
                                std::to_string(job.entries) +
                                " adjacency entries and vertices of " + std::to_string(weight) +
                                " in weight: this PT-Scotch counts to " + std::to_string(kMost));
}

/// The rows of one process, in the form of PT-Scotch.
class Rows {
 public:
  Rows(const PtscotchJob& job, const File& file, int rank, int processes)
      : job_(job), processes_(processes) {
    const std::int64_t first = first_row(job.vertices, rank, processes),
                       rows = first_row(job.vertices, rank + 1, processes) - first;
    const auto starts = file.read<std::int64_t>(job.offset_at(first), rows + 1);
    const std::int64_t edges = starts.back() - starts.front();
    offsets_ = numbers(starts, starts.front());
    weights_ = numbers(file.read<std::int32_t>(job.weight_at(first), rows));
    columns_ = numbers(file.read<std::int32_t>(job.column_at(starts.front()), edges));
    columns_.reserve(1);  // an array, even where there is no edge
    SCOTCH_randomProc(rank);
    require(SCOTCH_dgraphInit(&graph_, MPI_COMM_WORLD) == 0 &&
                SCOTCH_dgraphBuild(&graph_, 0, number(rows), number(rows), offsets_.data(), nullptr,
                                   weights_.data(), nullptr, number(edges), number(edges),
                                   columns_.data(), nullptr, nullptr) == 0,
            "PT-Scotch refuses the graph");
  }
  ~Rows() { SCOTCH_dgraphExit(&graph_); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  /// The cut of the first seed that meets the tolerance, or the best balanced one.
  std::vector<SCOTCH_Num> cut() {
    std::vector<SCOTCH_Num> best;
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kTries && least > job_.balance; ++i) {
      std::vector<SCOTCH_Num> parts = once(job_.seed + i);
      const double reached = balance(parts);
      if (reached >= least) continue;
      least = reached;
      best = std::move(parts);
    }
    return best;
  }

 private:
  static SCOTCH_Num number(std::int64_t value) { return static_cast<SCOTCH_Num>(value); }

  std::vector<SCOTCH_Num> once(std::int64_t seed) {
    SCOTCH_Context context;
    SCOTCH_Dgraph graph;
    SCOTCH_Strat strategy;
    std::vector<SCOTCH_Num> parts(weights_.size());
    require(SCOTCH_contextInit(&context) == 0 &&
                SCOTCH_contextOptionSetNum(&context, SCOTCH_OPTIONNUMDETERMINISTIC, 1) == 0 &&
                SCOTCH_contextOptionSetNum(&context, SCOTCH_OPTIONNUMRANDOMFIXEDSEED, 1) == 0 &&
                SCOTCH_dgraphInit(&graph, MPI_COMM_WORLD) == 0 &&
                SCOTCH_contextBindDgraph(&context, &graph_, &graph) == 0 &&
                SCOTCH_stratInit(&strategy) == 0,
            "PT-Scotch cannot begin");
    SCOTCH_contextRandomSeed(&context, number(seed));
    require(SCOTCH_stratDgraphMapBuild(&strategy, SCOTCH_STRATDEFAULT, number(processes_),
                                       number(job_.parts), job_.balance - 1) == 0 &&
                SCOTCH_dgraphPart(&graph, number(job_.parts), &strategy, parts.data()) == 0,
            "PT-Scotch cannot cut the graph");
    SCOTCH_stratExit(&strategy);
    SCOTCH_dgraphExit(&graph);
    SCOTCH_contextExit(&context);
    return parts;
  }

  /// Largest weight of a part / mean.
  double balance(const std::vector<SCOTCH_Num>& parts) const {
    std::vector<std::int64_t> loads(static_cast<std::size_t>(job_.parts));
    for (std::size_t v = 0; v < parts.size(); ++v)
      loads[static_cast<std::size_t>(parts[v])] += weights_[v];
    MPI_Allreduce(MPI_IN_PLACE, loads.data(), static_cast<int>(loads.size()), MPI_INT64_T, MPI_SUM,
                  MPI_COMM_WORLD);
    const auto sum = std::accumulate(loads.begin(), loads.end(), std::int64_t{0});
    return sum == 0 ? 1
                    : static_cast<double>(*std::max_element(loads.begin(), loads.end())) *
                          static_cast<double>(job_.parts) / static_cast<double>(sum);
  }

  const PtscotchJob job_;
  const int processes_;
  std::vector<SCOTCH_Num> offsets_, weights_, columns_;
  SCOTCH_Dgraph graph_{};
};

void work(const std::string& job_file, const std::string& parts_file) {
  int rank = 0, processes = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  const File file(job_file, O_RDONLY);
  const PtscotchJob job = file.read<PtscotchJob>(0, 1).front();
  require_small_enough(job, file);
  const auto parts = Rows(job, file, rank, processes).cut();
  File(parts_file, O_WRONLY)
      .write(4 * first_row(job.vertices, rank, processes),
             std::vector<std::int32_t>(parts.begin(), parts.end()));
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("orrery-ptscotch: expected JOB PARTS\n", stderr);
    return 2;
  }
  // Processes share the cores already.
  ::setenv("SCOTCH_PTHREAD_NUMBER", "1", 1);
  MPI_Init(&argc, &argv);
  try {
    orrery::work(argv[1], argv[2]);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "orrery-ptscotch: %s\n", failure.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}
