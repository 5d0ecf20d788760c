#include "backends/comm_mpi/row_service.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "backends/comm_mpi/pause.hpp"
#include "core/base/error.hpp"
#include "core/runtime/execute/short_turns.hpp"

namespace orrery::mpi {
namespace {

/// Time between looks after a long time without requests: a fifth of what an owner may take to
/// answer.
constexpr auto kLongestPause = std::chrono::milliseconds(1);
/// Requests wait while more than this is being sent.
constexpr std::size_t kMostBeingSent = std::size_t{64} << 20;

}  // namespace

RowService::~RowService() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void RowService::open(const Store& store, std::shared_ptr<ExposedRows> rows) {
  if (find(store))
    throw ProgramError(engine_.rank(), 0, fmt::format("{} is open already", to_string(store)));
  const std::lock_guard lock(mutex_);
  auto times = std::find_if(openings_.begin(), openings_.end(),
                            [&](const auto& o) { return o.first == store; });
  if (times == openings_.end()) times = openings_.insert(times, {store, 0});
  open_.push_back(
      std::make_shared<OpenStore>(OpenStore{store, times->second++, std::move(rows), {}, {}}));
  if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
  changed_.notify_all();
}

void RowService::all_open(const Store& store, std::vector<std::int64_t> rows_of_index,
                          std::vector<std::shared_ptr<MappedRows>> mapped) {
  const std::lock_guard lock(mutex_);
  for (const auto& open : open_)
    if (open->store == store) {
      open->mapped = std::move(mapped);
      open->rows_of_index = std::move(rows_of_index);
    }
}

void RowService::close(const Store& store) {
  const auto closing = find(store);
  if (!closing) throw not_exposed(engine_.rank(), store, engine_.rank());
  closing->rows->close();
  const std::lock_guard lock(mutex_);
  std::erase_if(open_, [&](const auto& open) { return open == closing; });
}

void RowService::close_all() noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& open : open_) open->rows->close();
  open_.clear();
}

std::shared_ptr<const OpenStore> RowService::find(const Store& store) const {
  const std::lock_guard lock(mutex_);
  for (const auto& open : open_)
    if (open->store == store) return open;
  return nullptr;
}

void RowService::serve() noexcept {
  ask_for_short_turns();
  try {
    serve_until_left();
  } catch (const Aborted&) {
    // The engine is frozen: the job ends, and whoever caused that reports why.
  } catch (const std::exception& error) {
    engine_.fail(error.what());
  }
}

void RowService::serve_until_left() {
  Pause pause(kLongestPause);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return leaving_ || !open_.empty() || !answers_.empty(); });
    if (leaving_ && answers_.empty()) return;
    lock.unlock();
    if (turn())
      pause.reset();
    else
      pause.rest();
    lock.lock();
  }
}

/// Whether anything has happened.
bool RowService::turn() {
  const bool sent = drop_sent_answers();
  if (!request_is_here()) return sent;
  answer();
  return true;
}

/// One request at a time is accepted, so that those of one rank are served in order.
bool RowService::request_is_here() {
  const std::lock_guard lock(library_lock());
  engine_.require_alive();
  if (receiving_ == MPI_REQUEST_NULL) {
    if (bytes_being_sent_ > kMostBeingSent) return false;
    int is_there = 0, bytes = 0;
    MPI_Status status;
    require_success(
        MPI_Iprobe(MPI_ANY_SOURCE, kRowRequestTag, engine_.rows_comm(), &is_there, &status),
        "MPI_Iprobe");
    if (is_there == 0) return false;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    from_ = status.MPI_SOURCE;
    request_.resize(static_cast<std::size_t>(bytes));
    require_success(MPI_Irecv(request_.data(), bytes, MPI_BYTE, from_, kRowRequestTag,
                              engine_.rows_comm(), &receiving_),
                    "MPI_Irecv");
  }
  int done = 0;
  require_success(MPI_Test(&receiving_, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return done != 0;
}

void RowService::answer() {
  RowRequest head;
  ORRERY_ASSERT(request_.size() >= sizeof head);
  std::memcpy(&head, request_.data(), sizeof head);
  const char* behind = request_.data() + sizeof head;
  const std::span index(reinterpret_cast<const std::int32_t*>(behind), at(head.rows));
  const auto open = find(head.store);
  bool served = open && open->opening == head.opening;
  std::vector<char> bytes(1);
  if (served && head.adds != 0) {
    served =
        open->rows->add(from_, index, reinterpret_cast<const float*>(behind + index.size_bytes()));
  } else if (served) {
    const Tensor& rows = open->rows->window();
    bytes.resize(index.size() * static_cast<std::size_t>(rows.cols() * bytes_of(rows.dtype)));
    served = open->rows->read(from_, index, bytes.data());
  }
  const std::lock_guard lock(library_lock());
  engine_.require_alive();
  if (!served) throw not_exposed(from_, head.store, engine_.rank());
  Answer& sent = answers_.emplace_back(Answer{std::move(bytes), MPI_REQUEST_NULL});
  bytes_being_sent_ += sent.bytes.size();
  require_success(MPI_Isend(sent.bytes.data(), static_cast<int>(sent.bytes.size()), MPI_BYTE, from_,
                            head.answer_tag, engine_.rows_comm(), &sent.sending),
                  "MPI_Isend");
}

bool RowService::drop_sent_answers() {
  if (answers_.empty()) return false;
  const std::lock_guard lock(library_lock());
  engine_.require_alive();
  return 0 < std::erase_if(answers_, [this](Answer& answer) {
           int done = 0;
           require_success(MPI_Test(&answer.sending, &done, MPI_STATUS_IGNORE), "MPI_Test");
           if (done != 0) bytes_being_sent_ -= answer.bytes.size();
           return done != 0;
         });
}

}  // namespace orrery::mpi
