#include "experiments/predict/staged_epoch.hpp"

#include "core/cost/mggcn.hpp"

namespace orrery {
namespace {

class Splitter {
 public:
  Splitter(const Price& local, const Price& collective,
           const std::function<bool(const Group&)>& crosses)
      : local_(local), collective_(collective), crosses_(crosses) {}

  void submit(const Op& op, Stage stage) {
    if (!group_of(op)) return compute(op);
    if (stage == Stage::synchronise) {
      result_.synchronise += collective_(op);
      result_.gradient_bytes += static_cast<double>(operands_of(op).begin()->tensor.bytes());
      return;
    }
    if (const auto* broadcast = std::get_if<Broadcast>(&op)) return add_broadcast(op, *broadcast);
    if (const auto* sparse = std::get_if<BroadcastSparse>(&op)) return add_sparse(op, *sparse);
    if (const auto* reduce = std::get_if<Reduce>(&op)) return add_reduce(op, *reduce);
    if (const auto* halo = std::get_if<AllToAllV>(&op)) return add_halo(op, *halo);
    open_ = false;
    (crosses_(*group_of(op)) ? result_.external : result_.internal) += collective_(op);
  }

  /// The computing lane goes on only when communication is done: what follows needs the halo.
  void wait_for_communication() {
    if (open_ && last().kind == "halo") open_ = false;
  }

  StagedEpoch take() {
    for (StagedProduct& product : result_.products)
      if (product.kind == "halo") product.kind = "spmm";
    return std::move(result_);
  }

 private:
  StagedProduct& last() { return result_.products.back(); }

  void compute(const Op& op) {
    const double seconds = local_(op);
    const std::string kind(kind_of(op));
    result_.compute += seconds;
    result_.compute_by_kind[kind] += seconds;
    since_reduce_ += seconds;
    if (!open_ || last().sums) return;
    if (last().kind == "halo") {
      last().compute.front() += seconds;
    } else if (last().kind.empty() || last().kind == kind) {
      last().kind = kind;
      last().compute.back() += seconds;
      received_only_ = false;
    } else if (received_only_ && kind == "gemm") {
      split_off_last_stage(kind, seconds);  // spmm_2d: what came last is for the next product
    } else {
      open_ = false;
    }
  }

  void split_off_last_stage(const std::string& kind, double seconds) {
    StagedProduct next = last();
    next.kind = kind;
    next.communicate = {last().communicate.back()};
    next.compute = {seconds};
    next.received_rows = 0;
    next.received_bytes = 0;
    last().communicate.pop_back();
    last().compute.pop_back();
    result_.products.push_back(next);
    received_only_ = false;
  }

  void start(const Group& group, bool sums, const std::string& kind) {
    result_.products.push_back({kind, group, sums, {}, {}, 0, 0, 0});
    open_ = true;
    root_ = -1;
  }

  void start_stage(double communicate) {
    last().communicate.push_back(communicate);
    last().compute.push_back(0);
    received_only_ = true;
  }

  void add_broadcast(const Op& op, const Broadcast& broadcast) {
    const bool joins = open_ && came_sparse_;
    came_sparse_ = false;
    if (!open_ || last().sums || (!joins && broadcast.root <= root_))
      start(broadcast.group, false, "");
    if (joins)
      last().communicate.back() += collective_(op);
    else
      start_stage(collective_(op));
    root_ = broadcast.root;
    last().group = broadcast.group;
    last().columns = broadcast.x.cols();
    if (broadcast.group.size > 1) last().received_rows += broadcast.x.rows();
    last().received_bytes += bytes_of(op);
  }

  void add_sparse(const Op& op, const BroadcastSparse& sparse) {
    if (!open_ || last().sums || sparse.root <= root_) start(sparse.group, false, "");
    start_stage(collective_(op));
    root_ = sparse.root;
    came_sparse_ = true;
    last().received_bytes += bytes_of(op);
  }

  void add_reduce(const Op& op, const Reduce& reduce) {
    const bool first = !open_ || !last().sums || reduce.root <= root_;
    if (first) start(reduce.group, true, "spmm");
    start_stage(collective_(op));
    if (!first) last().compute.back() = since_reduce_;
    since_reduce_ = 0;
    root_ = reduce.root;
    last().columns = reduce.x.cols();
    last().received_rows += reduce.x.rows();
    last().received_bytes += bytes_of(op);
  }

  void add_halo(const Op& op, const AllToAllV& halo) {
    start(halo.group, false, "halo");
    start_stage(0);
    start_stage(collective_(op));
    last().columns = halo.y.cols();
    last().received_rows = halo.y.rows();
    last().received_bytes = bytes_of(op);
  }

  const Price &local_, &collective_;
  const std::function<bool(const Group&)>& crosses_;
  StagedEpoch result_;
  bool open_ = false;           // the last product may go on
  bool received_only_ = false;  // its last stage has computed nothing yet
  bool came_sparse_ = false;    // the dense block of the same stage comes next
  int root_ = -1;               // of the last stage; they ascend within a product
  double since_reduce_ = 0;
};

double sum(const std::vector<double>& list) {
  double total = 0;
  for (const double x : list) total += x;
  return total;
}

}  // namespace

StagedEpoch stage_epoch(const Program& program, int epoch, const Price& local,
                        const Price& collective, const std::function<bool(const Group&)>& crosses) {
  Splitter splitter(local, collective, crosses);
  Phase phase;
  for (const Step& step : program.steps) {
    if (const auto* mark = std::get_if<PhaseStep>(&step)) phase = mark->phase;
    if (!phase.in_epoch() || phase.epoch != epoch) continue;
    if (const auto* submit = std::get_if<SubmitStep>(&step))
      splitter.submit(submit->op, phase.stage);
    if (const auto* wait = std::get_if<WaitStep>(&step))
      if (wait->lane == Lane::compute && wait->event.lane == Lane::comm)
        splitter.wait_for_communication();
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
