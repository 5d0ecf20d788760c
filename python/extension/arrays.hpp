// Arrays of Python as spans of the core, and vectors of the core as arrays of Python: nothing is
// copied if types fit.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/index.hpp"
#include "core/runtime/execute/storage.hpp"

namespace orrery::python {

namespace nb = nanobind;

/// An array on the host, used in place, of exactly this type, with its values side by side.
template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using WritableMatrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> span_of(const Array<T>& array) {
  return {array.data(), array.shape(0)};
}
template <class T>
std::vector<T> vector_of(const Array<T>& array) {
  return {array.data(), array.data() + array.shape(0)};
}

/// Values that Python reads; `owner` has them and lives as long as the view.
template <class T>
auto view_of(std::span<const T> values, nb::handle owner) {
  return nb::ndarray<nb::numpy, const T, nb::ndim<1>>(values.data(), {values.size()}, owner);
}

/// A vector that Python owns from now on.
template <class T>
auto given_away(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* v) noexcept { delete static_cast<std::vector<T>*>(v); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner);
}

/// A new matrix, not filled, that Python owns. It lies as tensors of the core do: rows begin at
/// whole cache lines and large ones are on huge pages, which arrays of NumPy are not.
inline auto new_matrix(std::int64_t rows, std::int64_t cols) {
  const std::int64_t bytes = rows * cols * static_cast<std::int64_t>(sizeof(float));
  void* block = host_storage().take(Space::device, bytes);
  nb::capsule owner(block, [](void* v) noexcept { host_storage().give(Space::device, v); });
  return nb::ndarray<nb::numpy, float, nb::ndim<2>>(block, {at(rows), at(cols)}, owner);
}

}  // namespace orrery::python
