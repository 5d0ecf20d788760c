// The operands of an op: its reads and writes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "core/ops/tensor.hpp"

namespace orrery {

enum class Access : std::uint8_t { read, write, update };

struct Operand {
  std::string_view name;
  Tensor tensor;
  Access access = Access::read;
};

/// The operands of one op: at most eight, without allocation.
class Operands {
 public:
  Operands(std::initializer_list<Operand> list) {
    for (const auto& o : list) add(o);
  }
  Operands& add(const Operand& o);
  Operands& add(std::string_view name, const std::optional<Tensor>& t, Access access) {
    return t ? add({name, *t, access}) : *this;
  }
  const Operand* begin() const { return items_.data(); }
  const Operand* end() const { return items_.data() + count_; }
  /// Bytes read plus bytes written, each operand once per direction.
  std::int64_t bytes() const;

 private:
  std::array<Operand, 8> items_;
  std::size_t count_ = 0;
};

}  // namespace orrery
