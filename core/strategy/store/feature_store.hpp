// The features of all vertices, each row with the rank that owns its vertex.
#pragma once

#include <optional>

#include "core/runtime/buffer.hpp"
#include "core/strategy/structure/sampled_batches.hpp"
#include "core/strategy/structure/vertex_data.hpp"

namespace orrery {

/// One rank's door to them: its own rows in host memory, where the others read them while it
/// computes, and theirs, of which it keeps some.
class FeatureStore {
 public:
  /// Rows, kept and pulled, that the first call of pull() wants, and that none exceeds.
  struct Room {
    std::int64_t first = 0, most = 0;
  };
  /// Reads this rank's own rows, opens them to all ranks and pulls those to keep; a collective.
  /// `type`: f32, or f16 of features of 16 bits. `room`: of a rank that keeps rows, for the whole run or for a while. It then has memory for a
  /// quarter more than it needs, at most for all, so that a batch that is larger than those before
  /// need not copy what is kept.
  FeatureStore(Runtime& rt, const VertexData& own, std::int64_t width, DType type,
               const OwnedRows& keep, std::optional<Room> room);
  /// features ← rows, on the copy lane. What is asked of an owner is one request. What was pulled
  /// stays where it is until a later call pulls to its place. The result is to be held until the
  /// copy lane has done it: a run would else free it at another moment than its recording.
  ///
  /// Shapes    features [places of rows, width]
  [[nodiscard]] Buffer pull(const WantedRows& rows, const Tensor& features);
  /// to ← rows, on the store lane, with memory of the caller for their numbers: who fetches several
  /// batches ahead of pull(). What is asked of an owner is one request.
  ///
  /// Shapes    numbers [count of rows, 1] i32 · to [count of rows, width]
  /// Placement memory that the host reaches
  void request(const OwnedRows& rows, const Tensor& numbers, const Tensor& to);
  /// The rows that are kept for the whole run; nobody writes them again.
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
  Buffer numbers_;  ///< that were asked for last
  Buffer into_;     ///< the places of the rows that were pulled last, where they have such
  Buffer rows_;     ///< that are kept, and those that were pulled last
};

}  // namespace orrery
