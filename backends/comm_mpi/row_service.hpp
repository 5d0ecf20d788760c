// The owner's side of stores: it serves rows to other processes while this one computes.
#pragma once

#include <mpi.h>

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "backends/comm_mpi/engine.hpp"
#include "backends/comm_mpi/row_requests.hpp"
#include "core/runtime/execute/server_storage.hpp"

namespace orrery::mpi {

/// A store in which this rank exposes rows.
struct OpenStore {
  Store store;
  std::uint32_t opening = 0;  ///< how often this rank had opened it before
  std::shared_ptr<ExposedRows> rows;
  std::vector<std::int64_t> rows_of_index;  ///< rows of each member; empty until all have opened
  /// Rows of members that this rank reads without them; null: it asks them.
  std::vector<std::shared_ptr<MappedRows>> mapped;
};

/// A thread that answers requests as soon as it gets a core. It looks for them while a store is
/// open, less often the longer none comes, and sleeps otherwise. The first store starts it.
class RowService {
 public:
  explicit RowService(Engine& engine) : engine_(engine) {}
  /// Ends when pending requests have been answered; at once after Engine::freeze().
  ~RowService();
  RowService(const RowService&) = delete;
  RowService& operator=(const RowService&) = delete;

  /// Others may ask from now on.
  ///
  /// Errors    ProgramError: it is already open
  void open(const Store& store, std::shared_ptr<ExposedRows> rows);
  /// All members have opened theirs; this rank may ask.
  void all_open(const Store& store, std::vector<std::int64_t> rows_of_index,
                std::vector<std::shared_ptr<MappedRows>> mapped);
  /// Nobody uses the rows any more after it returns.
  void close(const Store& store);
  void close_all() noexcept;
  /// Nothing if this rank exposes no rows.
  std::shared_ptr<const OpenStore> find(const Store& store) const;

 private:
  struct Answer {
    std::vector<char> bytes;
    MPI_Request sending = MPI_REQUEST_NULL;
  };
  void serve() noexcept;
  void serve_until_left();
  bool turn();
  bool request_is_here();
  void answer();
  bool drop_sent_answers();

  Engine& engine_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<OpenStore>> open_;
  std::vector<std::pair<Store, std::uint32_t>> openings_;  ///< times each store was opened so far
  bool leaving_ = false;
  std::thread thread_;

  // Used only by its thread.
  std::vector<char> request_;
  MPI_Request receiving_ = MPI_REQUEST_NULL;
  int from_ = 0;
  std::list<Answer> answers_;  ///< being sent
  std::size_t bytes_being_sent_ = 0;
};

}  // namespace orrery::mpi
