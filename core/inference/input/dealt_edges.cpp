#include "core/inference/input/dealt_edges.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "core/base/huge_pages.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kFirstSlab = 1 << 16;  // bytes; later ones are as large as all before

}  // namespace

DealtEdges::Key* DealtEdges::chunk_after(Key* end) {
  if (free_ == slab_end_) {
    const auto bytes =
        at(std::clamp<std::int64_t>(bytes_, kFirstSlab, static_cast<std::int64_t>(kHugePageBytes)));
    std::unique_ptr<Key, Free> slab(static_cast<Key*>(std::aligned_alloc(bytes, bytes)));
    if (!slab) throw std::bad_alloc();
    slabs_.push_back(std::move(slab));
    free_ = slabs_.back().get();
    slab_end_ = free_ + bytes / sizeof(Key);
    bytes_ += static_cast<std::int64_t>(bytes);
    advise_huge_pages(free_, bytes);
  }
  Key* const chunk = free_;
  free_ += kKeysOfChunk;
  *chunk = address(end);
  return chunk + 1;
}

}  // namespace orrery
