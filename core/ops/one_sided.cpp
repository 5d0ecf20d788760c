#include "core/ops/one_sided.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/ops/require_shapes.hpp"

namespace orrery {
namespace {

template <class T>
void require_on_host(const T& op) {
  require_contiguous(op);
  for (const Operand& o : op.operands())
    require(o.tensor.space != Space::device, op,
            fmt::format("{} must be in memory that the host reaches (host, pinned_host, "
                        "server_host), even if the device is the host",
                        o.name));
}

template <class T>
void validate_rows(const T& op) {
  require_on_host(op);
  require(op.rows.dtype != DType::f64, op, "rows of a store are f32, f16 or i32");
  require(op.rows.cols() >= 1, op, "rows of a store have a column at least");
}

/// `values`: y or x.
template <class T>
void validate_request(const T& op, const Tensor& values, std::string_view name) {
  require_on_host(op);
  const auto& rows = *op.rows_per_owner;
  require(static_cast<int>(rows.size()) == op.store.group.size, op,
          "rows_per_owner must have one number per rank of the store's group");
  require(std::all_of(rows.begin(), rows.end(), [](std::int64_t n) { return n >= 0; }), op,
          "rows_per_owner must not be negative");
  require(op.index.shape == Shape{total(op.rows_per_owner), 1} && op.index.dtype == DType::i32, op,
          "index must be [sum of rows_per_owner, 1] i32");
  if constexpr (requires { op.places; })
    if (op.places) {
      require(op.places->shape == op.index.shape && op.places->dtype == DType::i32, op,
              "places must be [sum of rows_per_owner, 1] i32");
      return;
    }
  require(values.rows() == op.index.rows(), op, fmt::format("{} must have a row per index", name));
}

template <class T>
std::string request_text(const T& op) {
  return fmt::format("rows={} {}", *op.rows_per_owner, to_string(op.store));
}

}  // namespace

std::string to_string(const Store& store) {
  return fmt::format("store {} of {}", store.id, to_string(store.group));
}

void Expose::validate() const { validate_rows(*this); }
std::string Expose::attributes() const { return to_string(store); }

void Withdraw::validate() const { validate_rows(*this); }
std::string Withdraw::attributes() const { return to_string(store); }

void Pull::validate() const {
  validate_request(*this, y, "y");
  require(y.dtype != DType::f64, *this, "rows of a store are f32, f16 or i32");
}
Operands Pull::operands() const {
  Operands all{{"index", index, Access::read}, {"y", y, places ? Access::update : Access::write}};
  return all.add("places", places, Access::read);
}
double Pull::bytes() const {
  const std::int64_t numbers = index.bytes() + (places ? places->bytes() : 0);
  return static_cast<double>(numbers + index.rows() * y.cols() * bytes_of(y.dtype));
}
std::string Pull::attributes() const { return request_text(*this); }

void Push::validate() const {
  validate_request(*this, x, "x");
  require(x.dtype == DType::f32, *this, "what is added is f32");
}
std::string Push::attributes() const { return request_text(*this); }

}  // namespace orrery
