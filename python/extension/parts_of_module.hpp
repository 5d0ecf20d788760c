// What each file of the extension adds to the module, and their shared code.
#pragma once

#include <nanobind/nanobind.h>

namespace orrery::python {

void add_errors(nanobind::module_& module);
void add_graph(nanobind::module_& module);
void add_partition(nanobind::module_& module);
void add_sample(nanobind::module_& module);
void add_spmm(nanobind::module_& module);

/// While it lives, loops of this thread run on this many threads (0: on all cores), and other
/// threads of Python go on. A thread of Python keeps its workers from call to call, because a short
/// product costs no more than starting them.
class Computing {
 public:
  explicit Computing(int threads);

 private:
  nanobind::gil_scoped_release released_;
};

/// Errors    ConfigError: a negative number, or more than 4096
void require_threads(int threads);

}  // namespace orrery::python
