// A rank's structure, as the host prepares it for the device.
#pragma once

#include <memory>
#include <utility>

#include "core/base/error.hpp"
#include "core/runtime/runtime.hpp"
#include "core/strategy/structure/cut_rows.hpp"

namespace orrery {

/// A structure of one rank, in host memory. Only the strategy that prepared it (Strategy::prepare)
/// knows its content and loads it (Strategy::load).
class Structure {
 public:
  virtual ~Structure() = default;
  HostWork work;  ///< the work of preparing it

 protected:
  explicit Structure(HostWork done) : work(std::move(done)) {}
};

/// A structure with content of type T.
template <class T>
class StructureOf final : public Structure {
 public:
  StructureOf(T content, HostWork done) : Structure(std::move(done)), of(std::move(content)) {}
  T of;
};

template <class T>
std::shared_ptr<const Structure> make_structure(T content, HostWork work) {
  return std::make_shared<const StructureOf<T>>(std::move(content), std::move(work));
}

/// The content of a structure.
///
/// Requires  a structure made from a T
template <class T>
const T& content_of(const Structure& structure) {
  const auto* known = dynamic_cast<const StructureOf<T>*>(&structure);
  ORRERY_ASSERT(known != nullptr && "a structure of another strategy");
  return known->of;
}

/// The work of cutting matrices out of a graph: their entries and bytes.
class CutWork {
 public:
  void add(const SparseMatrix& matrix) {
    constexpr std::int64_t kEntryBytes = sizeof(Vertex) + sizeof(float), kRowBytes = 8;
    entries_ += matrix.nnz();
    bytes_ += kEntryBytes * matrix.nnz() + kRowBytes * matrix.rows();
  }
  void add(std::int64_t entries, std::int64_t bytes) {
    entries_ += entries;
    bytes_ += bytes;
  }
  template <class Matrices>
  void add_all(const Matrices& matrices) {
    for (const SparseMatrix& matrix : matrices) add(matrix);
  }
  HostWork report() const { return {"cut", entries_, bytes_, 1}; }

 private:
  std::int64_t entries_ = 0, bytes_ = 0;
};

}  // namespace orrery
