// The exceptions of the project: user mistakes, environment and limits. Impossible states are
// assertions.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace orrery {

/// Base of everything that Orrery throws on purpose; what() is one line that says what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  /// Where it happened, in brackets after the message.
  void add_context(const std::string& where) { text_ = what() + (" (" + where + ")"); }
  const char* what() const noexcept override {
    return text_.empty() ? std::runtime_error::what() : text_.c_str();
  }

 private:
  std::string text_;
};

/// A setting that cannot be honoured; `path` is the key's path in the experiment file
/// ("strategy.type").
class ConfigError : public Error {
 public:
  ConfigError(std::string key_path, const std::string& problem)
      : Error(key_path.empty() ? problem : key_path + ": " + problem), path(std::move(key_path)) {}
  std::string path;
};

/// Input that is truncated, mistyped or out of range: "file:position: expected ..., found ...".
class DataError : public Error {
 public:
  DataError(const std::string& file, const std::string& position, const std::string& problem)
      : Error(file + (position.empty() ? "" : ":" + position) + ": " + problem) {}
};

/// Operands of an operation do not fit together.
class ShapeError : public Error {
  using Error::Error;
};

/// A memory space is too small for one more tensor (all sizes in bytes); names both.
class OutOfMemory : public Error {
 public:
  OutOfMemory(std::string tensor_name, std::int64_t asked_bytes, std::int64_t in_use_bytes,
              std::int64_t capacity_bytes, std::string space_name = "device");
  std::string tensor, space;
  std::int64_t asked, in_use, capacity;
};

/// A part that this build does not have (no METIS, no MPI, no CUDA); the message says how to get
/// it.
class NotBuilt : public Error {
  using Error::Error;
};

/// A step list that cannot be run safely: race, unmatched collective, use after release, leak.
class ProgramError : public Error {
 public:
  ProgramError(int at_rank, std::size_t at_step, const std::string& problem);
  int rank;
  std::size_t step;
};

/// An operation that the device profile of a simulation cannot price; names both.
class Uncalibrated : public Error {
  using Error::Error;
};

/// A strategy needs the graph itself, but only its statistics are given.
class NeedsStructure : public Error {
  using Error::Error;
};

/// Another rank failed first, so this one stops, too; the other rank's error is the one to report.
class Aborted : public Error {
  using Error::Error;
};

[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

}  // namespace orrery

/// Cheap check of an impossible state, always on.
#define ORRERY_ASSERT(expression)      \
  ((expression) ? static_cast<void>(0) \
                : ::orrery::assertion_failed(#expression, __FILE__, __LINE__))

/// From-scratch recomputation; on in the sanitizer builds of CI.
#ifdef ORRERY_HEAVY_ASSERTIONS
#define ORRERY_ASSERT_HEAVY(expression) ORRERY_ASSERT(expression)
#else
#define ORRERY_ASSERT_HEAVY(expression) static_cast<void>(0)
#endif
