// Owners of tensors and patterns: these are released with their owner, also when an exception
// passes.
#pragma once

#include <string_view>
#include <utility>

#include "core/runtime/runtime.hpp"

namespace orrery {

/// Owns one allocation.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Runtime& rt, Shape shape, DType dtype, std::string_view name, Space space = Space::device)
      : rt_(&rt), tensor_(rt.alloc(shape, dtype, space, name)) {}
  Buffer(Buffer&& other) noexcept
      : rt_(std::exchange(other.rt_, nullptr)), tensor_(other.tensor_) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(rt_, other.rt_);
    std::swap(tensor_, other.tensor_);
    return *this;
  }
  ~Buffer() {
    if (rt_ != nullptr) rt_->release(tensor_);
  }
  explicit operator bool() const { return rt_ != nullptr; }
  const Tensor& tensor() const { return tensor_; }
  /// The first rows·cols elements as a matrix.
  Tensor view(std::int64_t rows, std::int64_t cols) const { return tensor_.reshaped({rows, cols}); }

 private:
  Runtime* rt_ = nullptr;
  Tensor tensor_;
};

/// Owns one declared pattern.
class SparseBuffer {
 public:
  SparseBuffer() = default;
  SparseBuffer(Runtime& rt, Lane lane, Pattern pattern, std::string_view name)
      : rt_(&rt), sparse_(rt.declare(lane, std::move(pattern), name)) {}
  SparseBuffer(SparseBuffer&& other) noexcept
      : rt_(std::exchange(other.rt_, nullptr)), sparse_(other.sparse_) {}
  SparseBuffer& operator=(SparseBuffer&& other) noexcept {
    std::swap(rt_, other.rt_);
    std::swap(sparse_, other.sparse_);
    return *this;
  }
  ~SparseBuffer() {
    if (rt_ != nullptr) rt_->release(sparse_);
  }
  const Sparse& sparse() const { return sparse_; }

 private:
  Runtime* rt_ = nullptr;
  Sparse sparse_;
};

}  // namespace orrery
