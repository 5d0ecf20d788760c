// A table of features of vertices or of edges; each row lies with the rank that owns it.
#pragma once

#include <optional>
#include <string_view>

#include "core/runtime/buffer.hpp"
#include "core/strategy/structure/sampled_batches.hpp"

namespace orrery {

/// The number of a table among the stores of a program.
enum class StoreNumber : std::uint16_t { vertices, edges };

/// A rank's own rows of a table.
///
/// Shapes    source [rows, width], of `type`: f32, or f16 for features of 16 bits
struct OwnTable {
  StoreNumber number = StoreNumber::vertices;
  Source source;
  std::int64_t rows = 0, width = 0;
  DType type = DType::f32;
  std::string_view name;  ///< of its memory
};

/// One rank's access to a table: its own rows in host memory, which the others read while it
/// computes, and the rows of others, some of which it keeps.
///
/// Placement each row in the host memory of the rank that owns it; copies of kept rows
class FeatureStore {
 public:
  /// Rows, kept and pulled, that the first call of pull() needs, and the largest number of any
  /// call.
  struct Room {
    std::int64_t first = 0, most = 0;
  };
  /// Reads this rank's own rows, opens them to all ranks, and pulls those to keep, if any; a
  /// collective. `room`: for a rank that keeps rows, for the whole run or for a while. It allocates a
  /// quarter more than it needs, at most room for all, so that a larger later batch need not copy the
  /// kept rows.
  FeatureStore(Runtime& rt, const OwnTable& own, const OwnedRows& keep, std::optional<Room> room);
  /// features ← rows, on the copy lane. All requests to one owner are one message. Pulled rows stay
  /// until a later call pulls to their place. Keep the result until the copy lane has finished:
  /// otherwise a run would free it at another moment than its recording.
  ///
  /// Shapes    features [places of rows, width]
  [[nodiscard]] Buffer pull(const WantedRows& rows, const Tensor& features);
  /// to ← rows, on the store lane. The caller provides memory for their numbers, because it may
  /// fetch several batches before pull(). All requests to one owner are one message.
  ///
  /// Shapes    numbers [count of rows, 1] i32 · to [count of rows, width]
  /// Placement `to`: memory that the host reaches
  void request(const OwnedRows& rows, const Tensor& numbers, const Tensor& to);
  /// The rows that are kept for the whole run; they are never written again.
  Tensor kept_rows() const { return rows_.view(kept_, width_); }
  std::int64_t kept() const { return kept_; }
  std::int64_t width() const { return width_; }
  DType type() const { return type_; }
  /// Closes the rows of all ranks; a collective.
  void close();

 private:
  void make_room(std::int64_t rows, std::int64_t pulled, std::int64_t held);
  void fetch(const OwnedRows& rows, const Tensor& to, std::optional<Tensor> places);

  Runtime& rt_;
  Store store_;
  std::int64_t width_;
  DType type_;
  std::int64_t kept_;
  std::optional<Room> room_;
  Buffer table_;
  Buffer numbers_;  ///< rows that were requested last
  Buffer into_;     ///< places of the rows that were pulled last, if they have places
  Buffer rows_;     ///< kept rows, and those that were pulled last
};

}  // namespace orrery
