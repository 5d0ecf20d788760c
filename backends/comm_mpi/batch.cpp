#include "backends/comm_mpi/batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "backends/comm_mpi/kinds.hpp"
#include "backends/comm_mpi/pause.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/terminal/tell.hpp"

namespace orrery::mpi {
namespace {

/// Of one MPI message: far below the 2 GiB that MPI's counts allow, and short enough for the lock
/// (one call of the library may copy a whole message).
constexpr std::int64_t kLargestMessage = std::int64_t{64} << 20;

/// A poll that takes so long has moved data, even if no message is complete yet.
constexpr auto kMovedData = std::chrono::microseconds(10);

double seconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

}  // namespace

std::string to_string(const Title& title) {
  if (title.phase == nullptr) return std::string(title.what);
  return fmt::format("{}, {} on {}", title.what, to_string(*title.phase), name_of(title.lane));
}

std::string ranks_text(const std::vector<int>& ranks) {
  constexpr std::size_t kShown = 8;
  const std::size_t shown = std::min(ranks.size(), kShown);
  std::string text = fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks",
                                 fmt::join(ranks.begin(), ranks.begin() + shown, ", "));
  return ranks.size() > shown ? text + fmt::format(" and {} more", ranks.size() - shown) : text;
}

Batch::Batch(Engine& engine, MPI_Comm comm, const Title& title, std::uint64_t call,
             std::function<void(int from, std::int64_t bytes)> received, ExchangeMeter* meter)
    : on_received(std::move(received)),
      engine_(engine),
      comm_(comm),
      title_(title),
      call_(call),
      meter_(meter),
      next_notice_(engine.options().notice_seconds) {
  const std::lock_guard lock(library_lock());
  engine_.batches().push_back(this);
}

Batch::~Batch() {
  {
    const std::lock_guard lock(library_lock());
    std::erase(engine_.batches(), this);
  }
  if (!requests_.empty()) engine_.freeze("this rank gave up an operation");
}

int Batch::tag_of(std::int64_t bytes) const {
  return engine_.tag_of(title_.kind, call_ * 0x100000001B3U + static_cast<std::uint64_t>(bytes));
}

template <class Start>
void Batch::post(Message message, const Start& start) {
  const std::int64_t total = message.bytes;
  const std::lock_guard lock(library_lock());
  engine_.require_alive();
  for (std::int64_t done = 0; done < total; done += message.bytes) {
    message.bytes = std::min(total - done, kLargestMessage);
    MPI_Request request = MPI_REQUEST_NULL;
    require_success(start(done, static_cast<int>(message.bytes), &request),
                    message.incoming ? "MPI_Irecv" : "MPI_Isend");
    requests_.push_back(request);
    messages_.push_back(message);
    under_way(message.peer, +1);
  }
}

void Batch::send(int step, int to, const void* data, std::int64_t bytes) {
  send(step, to, data, bytes, tag_of(bytes));
}

void Batch::send(int step, int to, const void* data, std::int64_t bytes, int tag) {
  const auto* from = static_cast<const char*>(data);
  post({step, to, tag, bytes, false}, [&](std::int64_t at, int count, MPI_Request* request) {
    return MPI_Isend(from + at, count, MPI_BYTE, to, tag, comm_, request);
  });
}

void Batch::receive(int step, int from, void* data, std::int64_t bytes) {
  // Any tag: a message of another call is then taken for what it is instead of being waited past.
  auto* into = static_cast<char*>(data);
  post({step, from, tag_of(bytes), bytes, true},
       [&](std::int64_t at, int count, MPI_Request* request) {
         return MPI_Irecv(into + at, count, MPI_BYTE, from, MPI_ANY_TAG, comm_, request);
       });
}

void Batch::receive(int step, int from, void* data, std::int64_t bytes, int tag) {
  auto* into = static_cast<char*>(data);
  post({step, from, tag, bytes, true}, [&](std::int64_t at, int count, MPI_Request* request) {
    return MPI_Irecv(into + at, count, MPI_BYTE, from, tag, comm_, request);
  });
}

void Batch::wait(int step) {
  Pause pause;
  const auto pending = [&] {
    return std::any_of(messages_.begin(), messages_.end(),
                       [&](const Message& m) { return m.step <= step; });
  };
  while (pending()) {
    const auto before = Clock::now();
    if (poll()) {
      pause.reset();
      continue;
    }
    if (Clock::now() - before > kMovedData) pause.stir();
    pause.rest();
    keep_patience();  // on a busy machine every look takes long, and stirs: then it never sleeps
  }
}

bool Batch::poll() {
  statuses_.resize(requests_.size());
  finished_.resize(requests_.size());
  const std::lock_guard lock(library_lock());
  engine_.require_alive();
  int count = 0;
  const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                finished_.data(), statuses_.data());
  if (code != MPI_ERR_IN_STATUS) require_success(code, "MPI_Testsome");
  if (count == MPI_UNDEFINED || count <= 0) return false;
  for (int i = 0; i < count; ++i) {
    const MPI_Status& status = statuses_[at(i)];
    const int error = code == MPI_ERR_IN_STATUS ? status.MPI_ERROR : MPI_SUCCESS;
    const Message& message = messages_[at(finished_[at(i)])];
    under_way(message.peer, -1);
    finish(message, error, status);
  }
  drop_finished();
  progress_ = Clock::now();
  return true;
}

void Batch::under_way(int peer, int change) {
  if (meter_ == nullptr) return;
  meter_->time.under_way(meter_->external(peer), change, seconds(Clock::now().time_since_epoch()));
}

void Batch::finish(const Message& message, int error, const MPI_Status& status) const {
  if (message.incoming && error != MPI_SUCCESS) MPI_Error_class(error, &error);
  if (!message.incoming || (error != MPI_SUCCESS && error != MPI_ERR_TRUNCATE))
    return require_success(error, "a message");
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  if (engine_.kind_of_tag(status.MPI_TAG) != title_.kind)
    throw ProgramError(engine_.rank(), 0,
                       fmt::format("{} meets {} of rank {}", to_string(title_),
                                   kind_name(engine_.kind_of_tag(status.MPI_TAG)), message.peer));
  if (error != MPI_SUCCESS || count != message.bytes || status.MPI_TAG != message.tag)
    throw ProgramError(
        engine_.rank(), 0,
        fmt::format("operands do not match those of rank {}: {}", message.peer, to_string(title_)));
  if (on_received) on_received(message.peer, message.bytes);
}

void Batch::drop_finished() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    requests_[kept] = requests_[i];
    messages_[kept++] = messages_[i];
  }
  requests_.resize(kept);
  messages_.resize(kept);
}

void Batch::keep_patience() {
  const double waited = seconds(Clock::now() - progress_);
  if (waited < std::min(next_notice_, engine_.options().wait_seconds)) return;
  std::string whom;
  {
    const std::lock_guard lock(library_lock());
    whom = ranks_text(awaited());
  }
  if (waited >= engine_.options().wait_seconds)
    throw Error(
        fmt::format("{}: waited {:.0f} s for {}, and all ranks are alive; do all of them make "
                    "this call?",
                    to_string(title_), waited, whom));
  tell("orrery: rank {}: {} has waited {:.0f} s for {}\n", engine_.rank(), to_string(title_),
       waited, whom);
  next_notice_ *= 2;
}

std::vector<int> Batch::awaited() const {
  std::set<int> peers;
  for (const Message& m : messages_) peers.insert(m.peer);
  return {peers.begin(), peers.end()};
}

double Batch::seconds_without_progress() const { return seconds(Clock::now() - progress_); }

}  // namespace orrery::mpi
