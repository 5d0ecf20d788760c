#include "core/partition/methods/metis.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <metis.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <limits>
#include <mutex>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/partition/partition_options.hpp"
#include "core/partition/vertex_weights.hpp"

namespace orrery {
namespace {

/// Number of seeds to try if several constraints are not met at once.
constexpr int kTries = 4;

/// METIS draws from the C library's generator, which all threads share: with concurrent calls its
/// cuts would not follow the seed.
std::mutex random_numbers;

/// A symmetric graph without self-loops in the form of METIS, with its settings.
class Kway {
 public:
  Kway(const Csr& both, VertexWeights weights) : weights_(std::move(weights)) {
    if (both.nnz() > std::numeric_limits<idx_t>::max())
      throw Error(fmt::format("metis: {} adjacency entries exceed its 32-bit indices", both.nnz()));
    columns_.reserve(both.columns.size());
    for (std::int64_t v = 0; v < both.rows; ++v) {
      for (const Vertex u : both.row(v))
        if (u != v) columns_.push_back(u);
      offsets_.push_back(static_cast<idx_t>(columns_.size()));
    }
  }

  /// The cut of the first seed that meets the tolerance, or the best balanced one.
  std::vector<std::int32_t> cut(int parts, double tolerance, const PartitionOptions& wanted) {
    const auto vertices = offsets_.size() - 1;
    if (parts == 1 || vertices == 0) return std::vector<std::int32_t>(vertices, 0);
    if (vertices <= static_cast<std::size_t>(parts)) {  // METIS needs vertices in every part
      std::vector<std::int32_t> own(vertices);
      std::iota(own.begin(), own.end(), 0);
      return own;
    }
    std::vector<std::int32_t> best;
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < (weights_.constraints == 1 ? 1 : kTries) && least > tolerance; ++i) {
      std::vector<std::int32_t> owner = once(parts, tolerance, wanted, i);
      const auto reached = balances(weights_, owner, parts);
      const double worst = *std::max_element(reached.begin(), reached.end());
      if (worst >= least) continue;
      least = worst;
      best = std::move(owner);
    }
    return best;
  }

 private:
  std::vector<std::int32_t> once(int parts, double tolerance, const PartitionOptions& wanted,
                                 int attempt) {
    idx_t n = static_cast<idx_t>(offsets_.size() - 1), constraints = weights_.constraints,
          k = parts, objective = 0;
    idx_t options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] =
        static_cast<idx_t>((wanted.seed + static_cast<std::uint64_t>(attempt)) % 1000000007U);
    options[METIS_OPTION_OBJTYPE] = wanted.metis.volume ? METIS_OBJTYPE_VOL : METIS_OBJTYPE_CUT;
    std::vector<real_t> most(static_cast<std::size_t>(constraints), static_cast<real_t>(tolerance));
    std::vector<idx_t> owner(static_cast<std::size_t>(n));
    const std::lock_guard one_at_a_time(random_numbers);
    const int status = METIS_PartGraphKway(&n, &constraints, offsets_.data(), columns_.data(),
                                           weights_.values.data(), nullptr, nullptr, &k, nullptr,
                                           most.data(), options, &objective, owner.data());
    if (status != METIS_OK)
      throw Error(
          fmt::format("metis: partitioning into {} parts failed with status {}", parts, status));
    return {owner.begin(), owner.end()};
  }

  std::vector<idx_t> offsets_{0}, columns_;
  VertexWeights weights_;
};

/// The weights of some vertices, in their order.
VertexWeights weights_of(const VertexWeights& all, const std::vector<Vertex>& vertices) {
  VertexWeights some{all.constraints, {}};
  for (const Vertex v : vertices) {
    const auto first = all.values.begin() + std::int64_t{v} * all.constraints;
    some.values.insert(some.values.end(), first, first + all.constraints);
  }
  return some;
}

/// The graph among some vertices, in their order.
Csr induced(const Csr& graph, const std::vector<Vertex>& vertices, std::vector<Vertex>& number) {
  std::fill(number.begin(), number.end(), -1);
  for (std::size_t i = 0; i < vertices.size(); ++i)
    number[at(vertices[i])] = static_cast<Vertex>(i);
  Csr part;
  part.rows = part.cols = static_cast<std::int64_t>(vertices.size());
  for (const Vertex v : vertices) {
    for (const Vertex u : graph.row(v))
      if (number[at(u)] >= 0) part.columns.push_back(number[at(u)]);
    part.offsets.push_back(part.nnz());
  }
  return part;
}

}  // namespace

Partition metis_partition(const Csr& graph, int parts, const PartitionOptions& options,
                          std::span<const Split> split) {
  static_assert(sizeof(idx_t) == sizeof(std::int32_t), "weights must be given directly");
  const int servers = options.metis.servers;
  ORRERY_ASSERT(parts % servers == 0);
  const Csr symmetrised = is_symmetric(graph) ? Csr{} : symmetrise(graph);
  const Csr& both = symmetrised.rows == 0 ? graph : symmetrised;
  const VertexWeights weights =
      vertex_weights(both, options.metis.constraints, split, options.metis.type_counts);
  const double tolerance = options.metis.balance;
  if (servers == 1) return {parts, Kway(both, weights).cut(parts, tolerance, options)};

  const double of_level = std::sqrt(tolerance);
  const Partition first_cut{servers, Kway(both, weights).cut(servers, of_level, options)};
  Partition result{parts, std::vector<std::int32_t>(first_cut.owner.size())};
  std::vector<Vertex> number(first_cut.owner.size());
  std::int32_t first = 0;
  for (const auto& vertices : first_cut.members()) {
    Kway inside(induced(both, vertices, number), weights_of(weights, vertices));
    const auto owner = inside.cut(parts / servers, of_level, options);
    for (std::size_t i = 0; i < vertices.size(); ++i)
      result.owner[at(vertices[i])] = first + owner[i];
    first += parts / servers;
  }
  return result;
}

std::string metis_version() {
  return fmt::format("{}.{}.{}", METIS_VER_MAJOR, METIS_VER_MINOR, METIS_VER_SUBMINOR);
}

}  // namespace orrery

// METIS takes SIGTERM while it works: it raises the signal for errors of its own, and its handler leaves
// by a long jump. A SIGTERM from outside would count as such an error, or jump with a thread that METIS
// does not run on. So these two functions of its library, which it calls when it begins and ends, are
// replaced: they do what the original does, and give the signals of others to whoever had them before.

extern "C" void gk_sigthrow(int signal);

namespace {

struct sigaction of_program {};  ///< who has SIGTERM while METIS does not work

extern "C" void by_sender(int signal, siginfo_t* info, void*) {
  const bool raised = info->si_code == SI_TKILL && info->si_pid == ::getpid();
  if (raised) gk_sigthrow(signal);
  ::sigaction(SIGTERM, &of_program, nullptr);
  ::kill(::getpid(), SIGTERM);
}

bool is_ours(const struct sigaction& action) { return action.sa_sigaction == by_sender; }

void take_signal() {
  struct sigaction ours {};
  ours.sa_sigaction = by_sender;
  ours.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigaction(SIGTERM, &ours, nullptr);
}

int original(const char* name) { return reinterpret_cast<int (*)()>(::dlsym(RTLD_NEXT, name))(); }

}  // namespace

extern "C" int gk_sigtrap() {
  struct sigaction before {};
  ::sigaction(SIGTERM, nullptr, &before);
  if (!is_ours(before)) of_program = before;  // METIS calls itself, too
  const int trapped = original("gk_sigtrap");
  take_signal();
  return trapped;
}

extern "C" int gk_siguntrap() {
  const int left = original("gk_siguntrap");
  struct sigaction now {};
  ::sigaction(SIGTERM, nullptr, &now);
  if (is_ours(now)) take_signal();  // METIS knows no flags
  return left;
}
