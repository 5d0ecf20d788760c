#include "core/strategy/train/local_models.hpp"

#include <algorithm>

namespace orrery {

LocalModels::LocalModels(Runtime& rt, Parameters& parameters, LocalTraining plan)
    : rt_(rt), parameters_(parameters), plan_(std::move(plan)) {
  for (std::size_t model = 1; model < count(); ++model)
    others_.push_back(parameters.copy_of_state(rt));
}

std::vector<Tensor> LocalModels::state(std::size_t model) {
  swap(model);
  std::vector<Tensor> rows = parameters_.state();
  swap(model);
  return rows;
}

void LocalModels::average_into_gradients() {
  const Tensor sum = parameters_.gradients();
  if (count() == 0) rt_.submit(Lane::compute, Fill{sum, 0});
  for (std::size_t model = 0; model < count(); ++model)
    rt_.submit(Lane::compute,
               Copy{state(model).front(), sum, static_cast<float>(plan_.shares[model]), model > 0});
  rt_.wait(Lane::comm2, rt_.record(Lane::compute));
  rt_.submit(Lane::comm2, AllReduce{sum, world_group(rt_.size())});
  rt_.wait(Lane::compute, rt_.record(Lane::comm2));
}

void LocalModels::average() {
  average_into_gradients();
  const Tensor average = parameters_.gradients();
  rt_.submit(Lane::compute, Copy{average, parameters_.weights()});
  for (const Parameters::State& other : others_)
    rt_.submit(Lane::compute, Copy{average, other.weights.tensor()});
}

LocalModels::ForNow::ForNow(LocalModels& models) : parameters_(models.parameters_) {
  models.average_into_gradients();
  parameters_.swap_weights_and_gradients();
}

std::vector<Buffer> LocalModels::gather(const std::vector<std::size_t>& counts) {
  std::vector<Buffer> gathered;
  rt_.wait(Lane::comm, rt_.record(Lane::compute));
  const std::size_t most = *std::max_element(counts.begin(), counts.end());
  for (std::size_t model = 0; model < most; ++model) {
    auto rows = std::make_shared<std::vector<std::int64_t>>();
    std::int64_t all = 0;
    for (const std::size_t of_rank : counts) {
      rows->push_back(model < of_rank ? 1 : 0);
      all += rows->back();
    }
    for (const Tensor& row : model < count() ? state(model) : parameters_.state()) {
      gathered.emplace_back(rt_, Shape{all, row.cols()}, DType::f32, "checkpoint/states");
      const Tensor own = row.rows_at(0, model < count() ? 1 : 0);
      rt_.submit(Lane::comm,
                 AllGather{own, gathered.back().tensor(), rows, world_group(rt_.size())});
    }
  }
  rt_.wait(Lane::compute, rt_.record(Lane::comm));
  return gathered;
}

}  // namespace orrery
