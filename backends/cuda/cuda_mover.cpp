#include "backends/cuda/cuda_mover.hpp"

#include <algorithm>

namespace orrery::cuda {
namespace {

/// Large enough that launching costs little compared with copying.
constexpr std::int64_t kPiece = std::int64_t{4} << 20;

}  // namespace

OrreryDType dtype_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return kOrreryF64;
    case DType::i32:
      return kOrreryI32;
    case DType::f16:
      return kOrreryF16;
    case DType::f32:
      return kOrreryF32;
  }
  return kOrreryF32;
}

StreamMover::~StreamMover() {
  if (scratch_ != nullptr) device_.give(Space::device, scratch_);
}

void StreamMover::copy(void* to, const void* from, std::int64_t bytes) {
  if (bytes > 0) require(api().copy_bytes(stream_, to, from, bytes), "copy_bytes");
}

void StreamMover::sum(DType dtype, std::span<const void* const> parts, void* to, std::int64_t n) {
  if (n == 0) return;
  char* total = scratch();  // the sum so far, and what is added
  char* next = total + kPiece;
  const std::int64_t element = bytes_of(dtype), step = kPiece / element;
  for (std::int64_t first = 0; first < n; first += step) {
    const std::int64_t count = std::min(step, n - first), at = first * element;
    const auto piece = [&](std::size_t i) { return static_cast<const char*>(parts[i]) + at; };
    copy(total, piece(0), count * element);
    for (std::size_t i = 1; i < parts.size(); ++i) {
      copy(next, piece(i), count * element);
      require(api().add(stream_, dtype_of(dtype), next, total, count), "add");
    }
    copy(static_cast<char*>(to) + at, total, count * element);
  }
}

void StreamMover::swap(void* a, void* b, std::int64_t bytes) {
  char* aside = scratch();
  for (std::int64_t at = 0; at < bytes; at += kPiece) {
    const std::int64_t count = std::min(kPiece, bytes - at);
    char* x = static_cast<char*>(a) + at;
    char* y = static_cast<char*>(b) + at;
    copy(aside, x, count);
    copy(x, y, count);
    copy(y, aside, count);
  }
}

char* StreamMover::scratch() {
  if (scratch_ == nullptr) scratch_ = static_cast<char*>(device_.take(Space::device, 2 * kPiece));
  return scratch_;
}

void StreamMover::settle() { require(api().stream_sync(stream_), "stream_sync"); }

}  // namespace orrery::cuda
