// The module _orrery: kernels of the core for Python. The package `orrery` is what people import.
#include <fmt/core.h>
#include <unistd.h>

#include <memory>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "python/extension/parts_of_module.hpp"

namespace orrery::python {

namespace nb = nanobind;

void add_errors(nb::module_& module) {
  const auto error = nb::exception<Error>(module, "Error", PyExc_RuntimeError);
  error.doc() = "Something that Orrery refuses on purpose, with one line that says what to do.";
  nb::exception<ConfigError>(module, "ConfigError", error.ptr()).doc() =
      "A setting that cannot be honoured; the message begins with its name.";
  nb::exception<DataError>(module, "DataError", error.ptr()).doc() =
      "Input that is truncated, mistyped or out of range.";
  nb::exception<ShapeError>(module, "ShapeError", error.ptr()).doc() =
      "Arrays that do not fit together.";
  nb::exception<NotBuilt>(module, "NotBuilt", error.ptr()).doc() =
      "A part that this build does not have; the message says how to get it.";
}

namespace {

/// The workers of one thread of Python.
struct KeptWorkers {
  std::unique_ptr<ThreadPool> pool;
  int threads = 0;
  pid_t process = 0;

  KeptWorkers() = default;
  KeptWorkers(const KeptWorkers&) = delete;
  KeptWorkers& operator=(const KeptWorkers&) = delete;
  ~KeptWorkers() { leave_to_parent(); }

  /// A forked process (multiprocessing, a DataLoader) has none of its parent's threads, so it can
  /// neither use that pool nor end it.
  void leave_to_parent() {
    if (process != ::getpid()) (void)pool.release();
  }
};

}  // namespace

Computing::Computing(int threads) {
  thread_local KeptWorkers kept;
  if (threads == 0) threads = available_cores();
  kept.leave_to_parent();
  if (kept.pool != nullptr && kept.threads == threads) return;
  kept.pool.reset();
  kept.pool = std::make_unique<ThreadPool>(threads);
  kept.threads = threads;
  kept.process = ::getpid();
}

void require_threads(int threads) {
  constexpr int kMost = 4096;
  if (threads < 0 || threads > kMost)
    throw ConfigError("threads",
                      fmt::format("expected 0 (all cores) to {}, found {}", kMost, threads));
}

}  // namespace orrery::python

NB_MODULE(_orrery, module) {
  using namespace orrery::python;
  module.doc() = "Kernels of Orrery; import orrery instead.";
  add_errors(module);
  add_graph(module);
  add_partition(module);
  add_sample(module);
  add_spmm(module);
}
