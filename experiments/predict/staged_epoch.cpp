#include "experiments/predict/staged_epoch.hpp"

#include <algorithm>
#include <utility>

#include "core/base/index.hpp"
#include "core/cost/mggcn.hpp"

namespace orrery {
namespace {

double sum(const std::vector<double>& list) {
  double total = 0;
  for (const double x : list) total += x;
  return total;
}

class Splitter {
 public:
  Splitter(const Price& local, const Price& collective,
           const std::function<double(const Op&)>& external_share)
      : local_(local), collective_(collective), external_share_(external_share) {}

  void mark(const ProductMark& mark) {
    switch (mark.at) {
      case ProductMark::At::begin:
        result_.products.push_back({"", {}, mark.sums, {}, {}, 0, mark.width, 0, 0});
        stage_ = kBetweenProducts;
        break;
      case ProductMark::At::stage:
        stage_ = mark.stage;
        for (auto* seconds : {&product().communicate, &product().compute})
          seconds->resize(std::max(seconds->size(), at(stage_) + 1));
        break;
      case ProductMark::At::end:
        stage_ = kBetweenProducts;
        break;
    }
  }

  void submit(const Op& op, Stage of) {
    const auto group = group_of(op);
    if (!group) {
      // Buckets travel beside the backward pass; the operations after it use their sums.
      if (of == Stage::synchronise || of == Stage::update) wait_for_gradients();
      return compute(op);
    }
    const double seconds = collective_(op);
    if (of == Stage::synchronise) {
      result_.synchronise += seconds;
      gradients_under_way_ += seconds;
      result_.gradient_bytes += static_cast<double>(operands_of(op).begin()->tensor.bytes());
    } else if (stage_ == kBetweenProducts) {
      const double external = external_share_(op) * seconds;
      result_.external += external;
      result_.internal += seconds - external;
    } else {
      const double before = sum(product().communicate) * product().external_share;
      product().communicate[at(stage_)] += seconds;
      if (const double now = sum(product().communicate); now > 0)
        product().external_share = (before + external_share_(op) * seconds) / now;
      product().received_bytes += bytes_of(op);
      std::visit([&](const auto& o) { count_rows(o); }, op);
    }
  }

  StagedEpoch take() {
    wait_for_gradients();
    return std::move(result_);
  }

 private:
  static constexpr int kBetweenProducts = -1;

  StagedProduct& product() { return result_.products.back(); }

  void wait_for_gradients() {
    result_.synchronise_exposed += std::exchange(gradients_under_way_, 0);
  }

  void compute(const Op& op) {
    const double seconds = local_(op);
    const std::string kind(kind_of(op));
    gradients_under_way_ = std::max(0.0, gradients_under_way_ - seconds);
    result_.compute += seconds;
    result_.compute_by_kind[kind] += seconds;
    if (stage_ == kBetweenProducts) return;
    product().compute[at(stage_)] += seconds;
    if (product().kind.empty()) product().kind = kind;
  }

  /// Dense rows that arrive, or that pass in a sum, and the group.
  void count_rows(const Broadcast& o) { count_rows(o.group, o.group.size > 1 ? o.x.rows() : 0); }
  void count_rows(const Reduce& o) { count_rows(o.group, o.x.rows()); }
  void count_rows(const AllGather& o) { count_rows(o.group, o.y.rows() - o.x.rows()); }
  void count_rows(const AllToAllV& o) { count_rows(o.group, o.y.rows()); }
  template <class T>
  void count_rows(const T&) {}
  void count_rows(const Group& group, std::int64_t rows) {
    product().group = group;
    product().received_rows += rows;
  }

  const Price &local_, &collective_;
  const std::function<double(const Op&)>& external_share_;
  StagedEpoch result_;
  int stage_ = kBetweenProducts;    // of the last product
  double gradients_under_way_ = 0;  // seconds of pending all-reduces
};

}  // namespace

StagedEpoch stage_epoch(const Program& program, int epoch, const Price& local,
                        const Price& collective,
                        const std::function<double(const Op&)>& external_share) {
  Splitter splitter(local, collective, external_share);
  Phase phase;
  for (const Step& step : program.steps) {
    if (const auto* mark = std::get_if<PhaseStep>(&step)) phase = mark->phase;
    if (!phase.in_epoch() || phase.epoch != epoch) continue;
    if (const auto* submit = std::get_if<SubmitStep>(&step))
      splitter.submit(submit->op, phase.stage);
    if (const auto* product = std::get_if<ProductStep>(&step)) splitter.mark(product->mark);
  }
  return splitter.take();
}

double serial_seconds(const StagedProduct& product) {
  return sum(product.communicate) + sum(product.compute);
}

double overlapped_seconds(const StagedProduct& product) {
  return product.sums ? cost::overlapped_seconds(product.compute, product.communicate)
                      : cost::overlapped_seconds(product.communicate, product.compute);
}

}  // namespace orrery
