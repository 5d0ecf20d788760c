// A Runtime on which structures are loaded several steps before their use.
#pragma once

#include <utility>

#include "core/runtime/runtime.hpp"

namespace orrery {

/// Another Runtime, with one difference: while something is loaded far ahead, the compute lane does
/// not wait for its copies. Whoever uses it waits for them, so the steps before need not.
class LoadingRuntime final : public Runtime {
 public:
  /// `rt` must outlive this, and this everything that was made on it.
  explicit LoadingRuntime(Runtime& rt) : rt_(rt) {}

  class Scope {
   public:
    explicit Scope(bool& ends) : ends_(ends) {}
    ~Scope() { ends_ = false; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    bool& ends_;
  };
  /// Active as long as the result lives; with `at_all` false, not at all.
  [[nodiscard]] Scope compute_goes_on(bool at_all) {
    goes_on_ = at_all;
    return Scope(goes_on_);
  }

  int rank() const override { return rt_.rank(); }
  int size() const override { return rt_.size(); }
  Tensor alloc(Shape shape, DType dtype, Space space, std::string_view name) override {
    return rt_.alloc(shape, dtype, space, name);
  }
  void release(const Tensor& tensor) noexcept override { rt_.release(tensor); }
  Sparse declare(Lane lane, Pattern pattern, std::string_view name) override {
    return rt_.declare(lane, std::move(pattern), name);
  }
  void release(const Sparse& sparse) noexcept override { rt_.release(sparse); }
  void submit(Lane lane, const Op& op) override { rt_.submit(lane, op); }
  Event record(Lane lane) override { return rt_.record(lane); }
  void wait(Lane lane, Event event) override {
    if (goes_on_ && lane == Lane::compute && event.lane == Lane::copy) return;
    rt_.wait(lane, event);
  }
  void sync(Event event) override { rt_.sync(event); }
  Task host(Lane lane, std::function<HostWork()> work) override {
    return rt_.host(lane, std::move(work));
  }
  void join(Task task) override { rt_.join(task); }
  std::optional<double> scalar(Lane lane, const Tensor& tensor) override {
    return rt_.scalar(lane, tensor);
  }
  void phase(Phase phase) override { rt_.phase(phase); }
  void product(const ProductMark& mark) override { rt_.product(mark); }

 private:
  Runtime& rt_;
  bool goes_on_ = false;
};

}  // namespace orrery
