// Stores: tables whose rows lie with the ranks of a group, and the ops by which one rank reads them
// and adds to them while their owners do something else.
//
// Rows are in memory that hosts reach (host, pinned_host, server_host), on every backend, because
// an owner's host serves them while its device computes. Rows in server_host are read without it by
// ranks of the same server, wherever the system lets their processes share memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ops/operands.hpp"
#include "core/ops/tensor.hpp"

namespace orrery {

/// The name of such a table. The program chooses it, the same on all ranks. Two stores that are
/// open at the same time have different names.
struct Store {
  std::uint16_t id = 0;
  Group group;
  bool operator==(const Store&) const = default;
};
std::string to_string(const Store& store);  // "store 3 of ranks 0..3"

/// Opens the store: from now on all ranks of the group may pull this rank's rows and push to them.
/// A collective; a rank passes it when all have opened their rows.
///
/// Shapes    rows [n, f] f32, f16 or i32, n of each rank's own (0 too), f >= 1 and type the same on all
/// Placement host, pinned_host or server_host
/// Requires  until Withdraw has passed, only Push writes the rows, and if any rank pushes, nobody
///           reads them but by Pull, and no rank has them in server_host
struct Expose {
  Store store;
  Tensor rows;
  static constexpr std::string_view kKind = "expose";
  static constexpr bool kCommunicates = true;
  void validate() const;
  double flops() const { return 0; }
  double bytes() const { return 0; }
  Operands operands() const { return {{"rows", rows, Access::read}}; }
  std::string attributes() const;
};

/// Closes the store. A collective; a rank passes it when all have reached it. Earlier pulls and
/// pushes are then done.
///
/// Placement as Expose
/// Requires  the rows of this rank's Expose
struct Withdraw {
  Store store;
  Tensor rows;
  static constexpr std::string_view kKind = "withdraw";
  static constexpr bool kCommunicates = true;
  void validate() const;
  double flops() const { return 0; }
  double bytes() const { return 0; }
  Operands operands() const { return {{"rows", rows, Access::read}}; }
  std::string attributes() const;
};

/// y ← rows of a store: row k of y, or with `places` row places[k], is number index[k] of its
/// owner's rows. Rows that no place names keep their content. The rows of group index 0 come first,
/// rows_per_owner[0] of them, then those of index 1, and so on. A rank copies its own rows. Numbers
/// may repeat. Each row is a snapshot between two pushes to it.
///
/// Shapes    index [m, 1] i32, in [0, rows of the owner) · y [m, f], with places [n, f] · places [m,
///           1] i32, distinct, in [0, n) · rows_per_owner sums up to m
/// Placement host, pinned_host or server_host
/// Errors    at run time: a number that its owner does not have, naming the owner
/// Cost      bytes() has the row numbers and the rows, including own ones
struct Pull {
  Store store;
  Tensor index;
  std::shared_ptr<const std::vector<std::int64_t>> rows_per_owner;  // per group index
  Tensor y;
  std::optional<Tensor> places{};
  static constexpr std::string_view kKind = "pull";
  static constexpr bool kOneSided = true;
  void validate() const;
  double flops() const { return 0; }
  double bytes() const;
  Operands operands() const;
  std::string attributes() const;
};

/// Adds x to rows of a store: row index[k] of its owner gets + x[k], in the order of Pull. A push
/// passes when all owners have added. The rows of one push are added in their order. Pushes of
/// several ranks are added in the order of arrival, so sums of floats may round differently from
/// run to run.
///
/// Shapes    index [m, 1] i32, in [0, rows of the owner) · x [m, f] f32 · rows_per_owner sums up to
///           m
/// Placement host, pinned_host or server_host
/// Errors    at run time: a number that its owner does not have, naming the owner; nothing is added
///           then
/// Cost      bytes() has the row numbers and the rows, including own ones
struct Push {
  Store store;
  Tensor index;
  std::shared_ptr<const std::vector<std::int64_t>> rows_per_owner;  // per group index
  Tensor x;
  static constexpr std::string_view kKind = "push";
  static constexpr bool kOneSided = true;
  void validate() const;
  double flops() const { return static_cast<double>(x.shape.size()); }
  double bytes() const { return static_cast<double>(operands().bytes()); }
  Operands operands() const { return {{"index", index, Access::read}, {"x", x, Access::read}}; }
  std::string attributes() const;
};

}  // namespace orrery
