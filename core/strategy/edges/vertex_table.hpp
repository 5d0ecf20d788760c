// A device's table of the vertices of a batch, in which it finds their numbers.
#pragma once

#include "core/runtime/buffer.hpp"

namespace orrery {

/// Gives the columns of blocks that are vertices their places in a list.
///
/// Placement the blocks and the list: on this rank's device
class VertexTable {
 public:
  /// Makes room for the table; `vertices` must outlive this.
  ///
  /// Shapes    vertices [n, 1] i32, distinct
  VertexTable(Runtime& rt, const Tensor& vertices)
      : rt_(rt),
        vertices_(vertices),
        table_(rt, {Relabel::slots(vertices.rows()), 1}, DType::i32, "indices/table of vertices") {}

  /// The block's columns, which are among as many vertices at the beginning of the list, become their places
  /// there, on the copy lane; the compute lane waits.
  void number(const Sparse& block) const {
    const std::int64_t columns = block.shape.cols;
    rt_.submit(Lane::copy, Relabel{block, vertices_.reshaped({columns, 1}),
                                   table_.view(Relabel::slots(columns), 1)});
    rt_.wait(Lane::compute, rt_.record(Lane::copy));
  }

 private:
  Runtime& rt_;
  Tensor vertices_;
  Buffer table_;
};

}  // namespace orrery
