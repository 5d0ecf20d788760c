// Host memory that the other processes of a server read as their own.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "core/runtime/execute/storage.hpp"

namespace orrery {

/// Where a process finds memory of another one on its server.
struct SharedPlace {
  std::int64_t process = -1;  ///< -1: nowhere
  std::int64_t file = -1;     ///< its descriptor in that process
  std::int64_t bytes = 0;     ///< of the file
  std::int64_t offset = 0;    ///< of the memory in it
  /// What the last page of the file begins with. Process numbers mean other processes in another
  /// container, so whoever opens the file compares this.
  std::array<std::uint64_t, 2> key{};
};

/// Blocks in files of memory, which have no name and go with the last process that has them. Where
/// the system grants none, blocks are on the heap, and nobody else reaches them.
class ServerStorage final : public Storage {
 public:
  ~ServerStorage() override;
  void* take(Space space, std::int64_t bytes) override;
  void give(Space space, void* block) noexcept override;
  std::int64_t capacity(Space space) const override { return host_storage().capacity(space); }
  void set(Space space, void* at, unsigned char byte, std::int64_t bytes) override {
    host_storage().set(space, at, byte, bytes);
  }
  void read(Space space, void* to, const void* from, std::int64_t bytes) const override {
    host_storage().read(space, to, from, bytes);
  }
  /// For others to map; nowhere if it lies in no block of a file.
  SharedPlace place_of(const void* at) const;

 private:
  struct Block {
    int file = -1;
    std::size_t bytes = 0;
    std::array<std::uint64_t, 2> key{};
  };
  mutable std::mutex mutex_;
  std::map<const char*, Block> blocks_;  ///< by address
};

/// Rows of another process, in this one's addresses; only to read.
class MappedRows {
 public:
  /// Nothing if this process cannot reach the place.
  static std::shared_ptr<MappedRows> open(const SharedPlace& place);
  ~MappedRows();
  MappedRows(const MappedRows&) = delete;
  MappedRows& operator=(const MappedRows&) = delete;

  const char* first() const { return file_ + offset_; }
  /// Bytes of row numbers by which rows were read here. Their owner, who sees nothing of it, counts
  /// them when the store closes.
  std::atomic<std::int64_t> numbers_read = 0;

 private:
  MappedRows(const char* file, std::size_t bytes, std::int64_t offset)
      : file_(file), bytes_(bytes), offset_(offset) {}
  const char* file_;
  std::size_t bytes_;
  std::int64_t offset_;
};

}  // namespace orrery
