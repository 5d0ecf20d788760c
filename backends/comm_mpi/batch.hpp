// The messages of one operation, and waiting for them.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backends/comm_mpi/engine.hpp"
#include "core/runtime/exchange_time.hpp"
#include "core/runtime/runtime.hpp"

namespace orrery::mpi {

/// Which operation a batch belongs to.
struct Title {
  std::string_view what;         ///< "all_reduce", "gather"
  int kind = 0;                  ///< its number; kind_name() gives the name of any number
  const Phase* phase = nullptr;  ///< absent for exchanges of the host programs
  Lane lane = Lane::comm;
};
/// "all_reduce, epoch 3 synchronise on comm".
std::string to_string(const Title& title);

/// "rank 3", "ranks 1, 2, 5".
std::string ranks_text(const std::vector<int>& ranks);

/// Sends and receives of one operation. The messages between two ranks are matched in the order in
/// which both post them. Each belongs to a step; steps are waited for in order.
///
/// A batch that is destroyed with pending messages freezes the engine, because their memory is
/// freed.
class Batch {
 public:
  /// `call`: what must be equal on all ranks (besides the bytes of each message). It detects calls
  /// that do not match. `meter` is told with whom messages are under way.
  Batch(Engine& engine, MPI_Comm comm, const Title& title, std::uint64_t call = 0,
        std::function<void(int from, std::int64_t bytes)> received = {},
        ExchangeMeter* meter = nullptr);
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  /// Called with the sender and the size of each arrived message.
  std::function<void(int from, std::int64_t bytes)> on_received;

  /// Starts to send to a rank of the world; nothing is sent for zero bytes.
  void send(int step, int to, const void* data, std::int64_t bytes);
  void receive(int step, int from, void* data, std::int64_t bytes);
  /// The same, matched by a tag of the caller.
  void send(int step, int to, const void* data, std::int64_t bytes, int tag);
  void receive(int step, int from, void* data, std::int64_t bytes, int tag);
  /// Blocks until the messages of all steps up to this one are done.
  ///
  /// Errors    Aborted after freeze() · ProgramError if a message is not what was expected ·
  ///           Error after `wait_seconds` without progress
  void wait(int step);

  // Questions of the watchdog, with the library's lock held.
  const Title& title() const { return title_; }
  std::vector<int> awaited() const;
  double seconds_without_progress() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Message {
    int step, peer, tag;
    std::int64_t bytes;
    bool incoming;
  };
  int tag_of(std::int64_t bytes) const;
  template <class Start>
  void post(Message message, const Start& start);
  bool poll();
  void under_way(int peer, int change);
  void finish(const Message& message, int error, const MPI_Status& status) const;
  void drop_finished();
  void keep_patience();

  Engine& engine_;
  MPI_Comm comm_;
  Title title_;
  std::uint64_t call_;
  std::vector<MPI_Request> requests_;  // and, at the same places:
  std::vector<Message> messages_;
  std::vector<MPI_Status> statuses_;
  std::vector<int> finished_;
  ExchangeMeter* meter_;
  Clock::time_point progress_ = Clock::now();
  double next_notice_;
};

}  // namespace orrery::mpi
