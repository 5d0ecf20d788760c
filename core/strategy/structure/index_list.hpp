// Lists of vertices that need not be there: their numbers, or how many they are.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/ops/ops.hpp"

namespace orrery {

/// Vertices by number or, of a graph that is given by its statistics, counted only.
class IndexList {
 public:
  IndexList() = default;
  explicit IndexList(std::shared_ptr<const std::vector<Vertex>> numbers)
      : size_(static_cast<std::int64_t>(numbers->size())), numbers_(std::move(numbers)) {}
  static IndexList counted(std::int64_t size) {
    IndexList list;
    list.size_ = size;
    return list;
  }

  std::int64_t size() const { return size_; }
  /// Errors    NeedsStructure where they are only counted
  const std::shared_ptr<const std::vector<Vertex>>& numbers() const {
    if (!numbers_) throw NeedsStructure("a graph given by its statistics has no vertex numbers");
    return numbers_;
  }
  bool known() const { return numbers_ != nullptr; }
  Source source() const {
    return known() ? Source(IndexArray{numbers_}) : Source(Unknown{"indices"});
  }

 private:
  std::int64_t size_ = 0;
  std::shared_ptr<const std::vector<Vertex>> numbers_;
};

}  // namespace orrery
