#include "core/model/parameters.hpp"

#include <fmt/core.h>

#include <cmath>

#include "core/base/index.hpp"
#include "core/model/learning_rate.hpp"

namespace orrery {
Parameters::Start Parameters::glorot(std::int64_t fan_in, std::int64_t fan_out) {
  return {static_cast<float>(std::sqrt(6.0 / static_cast<double>(fan_in + fan_out))), 0};
}

int Parameters::add(Shape shape, Start start, bool decays, std::string_view role) {
  entries_.push_back({shape, start, decays, size_, declared_in_, prefix_ + std::string(role)});
  size_ += shape.size();
  return static_cast<int>(entries_.size()) - 1;
}

std::string Parameters::name_of(int number) const {
  const Entry& entry = entries_[at(number)];
  int same = 1;
  for (int other = 0; other < number; ++other)
    if (entries_[at(other)].layer == entry.layer && entries_[at(other)].role == entry.role) ++same;
  return fmt::format("layers.{}.{}{}", entry.layer, entry.role,
                     same == 1 ? "" : fmt::format("_{}", same));
}

int Parameters::add_averages(std::int64_t width) {
  averaged_.push_back({width, averaged_size_, declared_in_});
  averaged_size_ += 2 * width;
  return static_cast<int>(averaged_.size()) - 1;
}

Tensor Parameters::averages(int number) const {
  const Averages& those = averaged_[at(number)];
  return averages_.tensor().cols_at(those.offset, 2 * those.width).reshaped({2, those.width});
}

void Parameters::allocate(Runtime& rt, const TrainConfig& config, ModelUse use) {
  const auto flat = [&](std::string_view name) {
    Buffer buffer(rt, {1, size_}, DType::f32, name);
    rt.submit(Lane::compute, Fill{buffer.tensor(), 0});
    return buffer;
  };
  weights_ = flat("parameters/weights");
  const bool trains = use == ModelUse::training;
  if (trains) gradients_ = flat("parameters/gradients");
  if (trains && config.optimizer == OptimizerType::adam) {
    first_moment_ = flat("optimizer/first moment");
    second_moment_ = flat("optimizer/second moment");
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Start start = entries_[i].start;
    const Tensor w = weight(static_cast<int>(i));
    if (start.limit > 0)
      rt.submit(Lane::compute,
                Load{UniformWeights{config.seed, static_cast<std::uint32_t>(i), start.limit}, w});
    else if (start.value != 0)
      rt.submit(Lane::compute, Fill{w, start.value});
  }
  if (averaged_.empty()) return;
  averages_ = Buffer(rt, {1, averaged_size_}, DType::f32, "parameters/running averages");
  for (int i = 0; i < count_of_averages(); ++i)
    for (const int row : {0, 1})
      rt.submit(Lane::compute, Fill{averages(i).rows_at(row, 1), static_cast<double>(row)});
}

std::vector<Tensor> Parameters::state() const {
  std::vector<Tensor> rows{weights_.tensor()};
  if (first_moment_) {
    rows.push_back(first_moment_.tensor());
    rows.push_back(second_moment_.tensor());
  }
  if (averages_) rows.push_back(averages_.tensor());
  return rows;
}

std::vector<Tensor> Parameters::model() const {
  std::vector<Tensor> rows{weights_.tensor()};
  if (averages_) rows.push_back(averages_.tensor());
  return rows;
}

Parameters::State Parameters::copy_of_state(Runtime& rt) const {
  const auto copy = [&](const Buffer& of, std::string_view name) {
    if (!of) return Buffer();
    Buffer buffer(rt, of.tensor().shape, DType::f32, name);
    rt.submit(Lane::compute, Copy{of.tensor(), buffer.tensor()});
    return buffer;
  };
  return {copy(weights_, "parameters/weights"), copy(first_moment_, "optimizer/first moment"),
          copy(second_moment_, "optimizer/second moment")};
}

void Parameters::swap_state(State& other) {
  std::swap(weights_, other.weights);
  std::swap(first_moment_, other.first_moment);
  std::swap(second_moment_, other.second_moment);
}

void Parameters::update(Runtime& rt, const TrainConfig& config, int epoch, int step) const {
  ORRERY_ASSERT(gradients_ && "parameters for inference are not updated");
  const auto rate = static_cast<float>(learning_rate_in(config, epoch));
  // Neighbours with the same decay are updated as one run.
  for (std::size_t first = 0, last; first < entries_.size(); first = last) {
    last = first + 1;
    while (last < entries_.size() && entries_[last].decays == entries_[first].decays) ++last;
    const std::int64_t begin = entries_[first].offset;
    const std::int64_t end = last < entries_.size() ? entries_[last].offset : size_;
    const auto run = [&](const Buffer& b) { return b.tensor().cols_at(begin, end - begin); };
    const float decay = entries_[first].decays ? static_cast<float>(config.weight_decay) : 0.0F;
    if (first_moment_) {
      Adam adam{run(weights_), run(gradients_), run(first_moment_), run(second_moment_)};
      adam.rate = rate;
      adam.decay = decay;
      adam.step = step;
      rt.submit(Lane::compute, adam);
    } else {
      rt.submit(Lane::compute, Sgd{run(weights_), run(gradients_), rate, decay});
    }
  }
}

std::int64_t Parameters::offset(int number) const {
  return number == count() ? size_ : entries_[at(number)].offset;
}

Tensor Parameters::window(const Tensor& flat, int number) const {
  const Entry& entry = entries_[at(number)];
  return flat.cols_at(entry.offset, entry.shape.size()).reshaped(entry.shape);
}

}  // namespace orrery
