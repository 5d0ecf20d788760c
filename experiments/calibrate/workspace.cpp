#include "experiments/calibrate/workspace.hpp"

#include <algorithm>

#include "core/base/cache_line.hpp"
#include "core/base/error.hpp"

namespace orrery::calibrate {
namespace {

/// RankMemory requests huge pages from 4 MiB on; these blocks stay below.
constexpr std::int64_t kSmallBlock = (std::int64_t{4} << 20) - 4096;

std::int64_t rounded(std::int64_t bytes) {
  return (bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
}

void draw(float* first, std::int64_t elements) {
  std::uint32_t state = 12345;
  for (std::int64_t i = 0; i < elements; ++i) {
    state = state * 1664525U + 1013904223U;
    first[i] = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1.0p-31F;
  }
}

/// Elements of a device are drawn once and copied there repeatedly.
constexpr std::int64_t kDrawn = std::int64_t{1} << 20;

}  // namespace

Workspace::Workspace(std::int64_t bytes) : inputs_(arena(bytes)), outputs_(arena(bytes)) {
  first_own_id_ = next_id_;
}

Workspace::Workspace(std::int64_t bytes, RankDevice& device, DeviceLane& lane)
    : device_(&device),
      lane_(&lane),
      memory_(0, device.storage()),
      inputs_(arena(bytes)),
      outputs_(arena(bytes)) {
  first_own_id_ = next_id_;
}

std::uint32_t Workspace::allocate(std::int64_t bytes) {
  memory_.allocate(next_id_, bytes);
  fill(next_id_, bytes / 4);
  return next_id_++;
}

void Workspace::fill(std::uint32_t id, std::int64_t elements) {
  if (lane_ == nullptr) return draw(memory_.data<float>(Tensor{.id = id, .shape = {}}), elements);
  std::vector<float> drawn(static_cast<std::size_t>(std::min(elements, kDrawn)));
  draw(drawn.data(), static_cast<std::int64_t>(drawn.size()));
  const auto values = std::make_shared<const std::vector<float>>(std::move(drawn));
  for (std::int64_t first = 0; first < elements; first += kDrawn)
    load(FloatArray{values},
         Tensor{
             .id = id, .shape = {std::min(kDrawn, elements - first), 1}, .offset = first, .ld = 1});
}

void Workspace::load(Source values, const Tensor& to) {
  lane_->kernels().run(Load{std::move(values), to}, memory_);
}

Workspace::Arena Workspace::arena(std::int64_t bytes) {
  Arena made;
  made.huge = allocate(bytes);
  made.huge_bytes = bytes;
  for (std::int64_t room = 0; room < std::min(bytes, std::int64_t{64} << 20); room += kSmallBlock)
    made.small.push_back(allocate(kSmallBlock));
  return made;
}

Tensor Workspace::window(Arena& from, std::int64_t rows, std::int64_t cols) {
  const std::int64_t bytes = rounded(rows * cols * 4);
  Tensor t{.shape = {rows, cols}, .ld = cols};
  const auto block = static_cast<std::size_t>((from.small_used + kSmallBlock - 1) / kSmallBlock);
  const std::int64_t used = from.small_used % kSmallBlock;
  if (bytes <= kSmallBlock) {
    // Behind the last one where it fits, else at the start of the next block.
    const bool fits = used > 0 && used + bytes <= kSmallBlock;
    const std::size_t in = fits ? block - 1 : block;
    if (in < from.small.size()) {
      t.id = from.small[in];
      t.offset = fits ? used / 4 : 0;
      from.small_used = static_cast<std::int64_t>(in) * kSmallBlock + t.offset * 4 + bytes;
      return t;
    }
  }
  ORRERY_ASSERT(from.huge_used + bytes <= from.huge_bytes);
  t.id = from.huge;
  t.offset = from.huge_used / 4;
  from.huge_used += bytes;
  return t;
}

Tensor Workspace::integers(std::int64_t rows, std::int64_t cols,
                           const std::function<std::int64_t(std::int64_t)>& value) {
  const Tensor t{.id = next_id_++, .shape = {rows, cols}, .dtype = DType::i32, .ld = cols};
  memory_.allocate(t.id, t.bytes());
  const auto make = [&](std::int32_t* to) {
    for (std::int64_t i = 0; i < rows * cols; ++i) to[i] = static_cast<std::int32_t>(value(i));
  };
  if (lane_ == nullptr) {
    make(memory_.data<std::int32_t>(t));
    return t;
  }
  std::vector<Vertex> made(static_cast<std::size_t>(rows * cols));
  make(made.data());
  load(IndexArray{std::make_shared<const std::vector<Vertex>>(std::move(made))}, t);
  return t;
}

Tensor Workspace::doubles(std::int64_t cols) {
  const Tensor t{.id = next_id_++, .shape = {1, cols}, .dtype = DType::f64, .ld = cols};
  memory_.allocate(t.id, t.bytes());
  return t;
}

Sparse Workspace::pattern(std::shared_ptr<const Csr> csr, double reuse) {
  Sparse s{patterns_++, {csr->rows, csr->cols}, csr->nnz()};
  s.reuse = static_cast<float>(reuse);
  if (lane_ != nullptr) lane_->put(s, *csr);
  memory_.add_sparse(s.id, std::move(csr));
  return s;
}

Sparse Workspace::room(const Counts& counts) {
  const Sparse s{patterns_++, {counts.rows, counts.cols}, counts.nnz};
  memory_.add_sparse_room(s.id, counts);
  return s;
}

bool Workspace::has_room(std::int64_t bytes) const {
  const auto room = [bytes](const Arena& a) { return a.huge_used + bytes <= a.huge_bytes; };
  return room(inputs_) && room(outputs_);
}

void Workspace::clear() {
  for (std::uint32_t id = first_own_id_; id < next_id_; ++id) memory_.free(id);
  for (std::uint32_t id = 0; id < patterns_; ++id) {
    if (device_ != nullptr) device_->drop_pattern(id);
    memory_.remove_sparse(id);
  }
  next_id_ = first_own_id_;
  patterns_ = 0;
  for (Arena* a : {&inputs_, &outputs_}) a->huge_used = a->small_used = 0;
}

}  // namespace orrery::calibrate
