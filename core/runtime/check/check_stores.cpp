#include "core/runtime/check/check_stores.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/runtime/check/lane_clocks.hpp"

namespace orrery {
namespace {

/// An item of a lane and what is known to be done before it.
struct Item {
  std::size_t step = 0;
  Lane lane = Lane::compute;
  Clock before{};
  std::uint32_t number() const { return before[at(lane)] + 1; }
  bool comes_after(const Item& other) const { return before[at(other.lane)] >= other.number(); }
};

/// A local access to a tensor.
struct RowUse {
  Item item;
  Tensor window;
  bool writes = false;
};

/// A pull or push.
struct Request {
  Item item;
  bool adds = false;
  std::shared_ptr<const std::vector<std::int64_t>> rows_per_owner;
};

/// From an Expose to its Withdraw.
struct Exposure {
  Store store;
  Tensor rows;
  Item opened;
  std::optional<Item> closed;
  std::vector<Request> requests;   ///< of this rank
  std::vector<std::size_t> reads;  ///< steps that may read the rows in between
};

class RankStores {
 public:
  explicit RankStores(const Program& program) : program_(program) {
    for (const Step& step : program.steps)
      if (const auto* submit = std::get_if<SubmitStep>(&step)) {
        const auto* expose = std::get_if<Expose>(&submit->op);
        if (expose != nullptr) exposed_.insert(expose->rows.id);
        uses_stores_ |= expose != nullptr || std::holds_alternative<Withdraw>(submit->op) ||
                        std::holds_alternative<Pull>(submit->op) ||
                        std::holds_alternative<Push>(submit->op);
      }
    if (!uses_stores_) return;
    for (step_ = 0; step_ < program.steps.size(); ++step_)
      std::visit([this](const auto& s) { take(s); }, program.steps[step_]);
    for (const Exposure& e : exposures_)
      if (!e.closed) found(e.opened.step, fmt::format("{} is never withdrawn", to_string(e.store)));
    for (Exposure& e : exposures_)
      for (const RowUse& use : uses_) judge(e, use);
  }

  const std::vector<Exposure>& exposures() const { return exposures_; }
  std::vector<Finding> findings() && { return std::move(findings_); }

 private:
  void take(const AllocStep& s) { names_[s.tensor.id] = s.name; }
  void take(const ReleaseStep& s) {
    for (const Exposure& e : exposures_)
      if (!e.closed && e.rows.id == s.tensor.id)
        found(step_, fmt::format("'{}' is released while it is exposed in {}", names_[e.rows.id],
                                 to_string(e.store)));
  }
  void take(const ReleaseSparseStep&) {}
  void take(const DeclareStep& s) { clocks_.begin_item(s.lane); }
  void take(const SubmitStep& s) {
    const Item item{step_, s.lane, clocks_.begin_item(s.lane)};
    std::visit([&](const auto& op) { take(item, op); }, s.op);
  }
  void take(const WaitStep& s) { clocks_.wait(s.lane, s.event); }
  void take(const SyncStep& s) { clocks_.sync(s.event); }
  void take(const HostStep& s) {
    clocks_.begin_item(s.lane);
    tasks_[s.task.id] = {s.lane, clocks_.items(s.lane)};
  }
  void take(const JoinStep& s) { clocks_.sync(tasks_[s.task.id]); }
  void take(const ScalarStep& s) { clocks_.sync({s.lane, clocks_.items(s.lane)}); }
  void take(const PhaseStep&) {}
  void take(const ProductStep&) {}

  void take(const Item& item, const Expose& op) {
    if (const Exposure* open = find(op.store); open != nullptr && !open->closed)
      return found(step_,
                   fmt::format("{} is open since step {}", to_string(op.store), open->opened.step));
    exposures_.push_back({op.store, op.rows, item, {}, {}, {}});
  }

  void take(const Item& item, const Withdraw& op) {
    Exposure* open = find(op.store);
    if (open == nullptr || open->closed)
      return found(step_, fmt::format("{} is withdrawn, but not open", to_string(op.store)));
    if (open->rows != op.rows)
      found(step_,
            fmt::format("{} is withdrawn with {}, but step {} has exposed {}", to_string(op.store),
                        to_string(op.rows), open->opened.step, to_string(open->rows)));
    if (!item.comes_after(open->opened))
      found(step_,
            fmt::format("{} on {} does not wait for its expose, step {} on {}", Withdraw::kKind,
                        name_of(item.lane), open->opened.step, name_of(open->opened.lane)));
    for (const Request& r : open->requests)
      if (!item.comes_after(r.item))
        found(step_, fmt::format("{} is withdrawn on {} while step {} on {} {}",
                                 to_string(op.store), name_of(item.lane), r.item.step,
                                 name_of(r.item.lane), r.adds ? "pushes to it" : "pulls from it"));
    open->closed = item;
  }

  void take(const Item& item, const Pull& op) {
    request(item, op, op.y, false);
    use(item, op);
  }
  void take(const Item& item, const Push& op) {
    request(item, op, op.x, true);
    use(item, op);
  }
  template <class T>
  void take(const Item& item, const T& op) {
    use(item, op);
  }

  template <class T>
  void use(const Item& item, const T& op) {
    for (const Operand& o : op.operands())
      if (exposed_.contains(o.tensor.id))
        uses_.push_back({item, o.tensor, o.access != Access::read});
  }

  template <class T>
  void request(const Item& item, const T& op, const Tensor& values, bool adds) {
    Exposure* open = find(op.store);
    if (open == nullptr)
      return found(step_, fmt::format("{} of {}, which this rank has not exposed", T::kKind,
                                      to_string(op.store)));
    if (open->closed)
      return found(step_, fmt::format("{} of {}, which this rank has withdrawn in step {}",
                                      T::kKind, to_string(op.store), open->closed->step));
    if (!item.comes_after(open->opened))
      found(step_, fmt::format("{} on {} does not wait for the expose of {}, step {} on {}",
                               T::kKind, name_of(item.lane), to_string(op.store), open->opened.step,
                               name_of(open->opened.lane)));
    if (values.cols() != open->rows.cols() || values.dtype != open->rows.dtype)
      found(step_, fmt::format("{} of {} {} where {} has {} {}", T::kKind, values.cols(),
                               name_of(values.dtype), to_string(op.store), open->rows.cols(),
                               name_of(open->rows.dtype)));
    if (adds && open->rows.space == Space::server_host)
      found(step_, fmt::format("{} to {}, whose rows are in server_host, where others read them "
                               "at any time",
                               T::kKind, to_string(op.store)));
    open->requests.push_back({item, adds, op.rows_per_owner});
  }

  /// The store's last exposure so far.
  Exposure* find(const Store& store) {
    const auto last = std::find_if(exposures_.rbegin(), exposures_.rend(),
                                   [&](const Exposure& e) { return e.store == store; });
    return last == exposures_.rend() ? nullptr : &*last;
  }

  /// A write that no event orders with the Expose or the Withdraw, which read the rows, is a race;
  /// the check of lanes finds it.
  void judge(Exposure& e, const RowUse& use) {
    if (!overlap(e.rows, use.window)) return;
    const bool after_end = e.closed && use.item.comes_after(*e.closed);
    if (e.opened.comes_after(use.item) || after_end) return;
    if (!use.writes) {
      e.reads.push_back(use.item.step);
      return;
    }
    if (use.item.comes_after(e.opened) && (!e.closed || e.closed->comes_after(use.item)))
      found(use.item.step,
            fmt::format("'{}' is written on {} while it is exposed in {}", names_[e.rows.id],
                        name_of(use.item.lane), to_string(e.store)));
  }

  void found(std::size_t step, std::string problem) {
    findings_.push_back({program_.rank, step, std::move(problem)});
  }

  const Program& program_;
  bool uses_stores_ = false;
  std::set<std::uint32_t> exposed_;  ///< tensors that are exposed at any time
  std::size_t step_ = 0;
  LaneClocks clocks_;
  std::map<std::uint32_t, Event> tasks_;
  std::map<std::uint32_t, std::string> names_;
  std::vector<RowUse> uses_;
  std::vector<Exposure> exposures_;
  std::vector<Finding> findings_;
};

/// The exposures of all ranks; those of one store match in their order.
class StoreCheck {
 public:
  explicit StoreCheck(std::span<const Program> programs) {
    for (const Program& program : programs) ranks_.push_back(RankStores(program).exposures());
  }

  std::vector<Finding> run() {
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      for (const Exposure& e : ranks_[r])
        for (const Request& request : e.requests) judge(static_cast<int>(r), e, request);
    return std::move(findings_);
  }

 private:
  void judge(int rank, const Exposure& own, const Request& request) {
    const Group& group = own.store.group;
    for (int i = 0; i < group.size; ++i) {
      const std::int64_t rows = (*request.rows_per_owner)[at(i)];
      const Exposure* owners = rows > 0 ? exposure_of(group.rank_of(i), rank, own) : nullptr;
      if (owners == nullptr) continue;
      if (owners->rows.rows() == 0)
        findings_.push_back({rank, request.item.step,
                             fmt::format("asks for {} rows of rank {} in {}, which exposes none",
                                         rows, group.rank_of(i), to_string(own.store))});
      if (request.adds && !owners->reads.empty() && told_.insert(owners).second)
        findings_.push_back(
            {group.rank_of(i), owners->reads.front(),
             fmt::format("race: rows are read that are exposed in {}, to which rank {} pushes in "
                         "step {}: read them after withdraw",
                         to_string(own.store), rank, request.item.step)});
    }
  }

  /// The exposure that `owner` opened together with `own` of `rank`.
  const Exposure* exposure_of(int owner, int rank, const Exposure& own) const {
    const auto same = [&](const Exposure& e) { return e.store == own.store; };
    const auto& ranks = ranks_[at(rank)];
    auto number = std::count_if(ranks.data(), &own, same);
    for (const Exposure& e : ranks_[at(owner)])
      if (same(e) && number-- == 0) return &e;
    return nullptr;
  }

  std::vector<std::vector<Exposure>> ranks_;
  std::set<const Exposure*> told_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> find_store_problems(const Program& program) {
  return RankStores(program).findings();
}

std::vector<Finding> find_store_problems(std::span<const Program> programs) {
  return StoreCheck(programs).run();
}

}  // namespace orrery
