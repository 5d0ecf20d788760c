// Host data to the device in pieces, through pinned memory: while one piece is copied, the next is
// made.
#pragma once

#include <array>
#include <cstdint>

#include "backends/cuda/cuda_device.hpp"

namespace orrery::cuda {

class Staging {
 public:
  Staging(CudaDevice& device, OrreryStream* stream) : device_(device), stream_(stream) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  static constexpr std::int64_t kPiece = std::int64_t{8} << 20;

  /// Pinned memory for at least this many bytes, which no copy reads any more. It belongs to the
  /// caller until sent().
  void* next(std::int64_t bytes);
  /// Only the work issued to the stream so far reads the piece.
  void sent();

 private:
  struct Piece {
    void* block = nullptr;
    std::int64_t bytes = 0;
    Handle<OrreryEvent> read{nullptr, nullptr};  ///< null until it is first sent
  };
  CudaDevice& device_;
  OrreryStream* stream_;
  std::array<Piece, 2> pieces_;
  std::size_t at_ = 0;
};

}  // namespace orrery::cuda
