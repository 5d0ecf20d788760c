#include "core/cost/catgnn.hpp"

#include "core/cost/require.hpp"

namespace orrery::cost {

std::int64_t batches_of(std::int64_t training_vertices, std::int64_t batch) {
  require(training_vertices >= 0, "training vertices must not be negative");
  require(batch >= 1, "a batch must have a vertex");
  return training_vertices / batch + (training_vertices % batch == 0 ? 0 : 1);
}

std::int64_t gradient_averagings(std::int64_t epochs, std::int64_t batches_per_worker) {
  require(epochs >= 0, "epochs must not be negative");
  require(batches_per_worker >= 1, "a worker must have a batch");
  return epochs * batches_per_worker;
}

std::int64_t model_averagings(std::int64_t epochs, std::int64_t interval) {
  require(epochs >= 0, "epochs must not be negative");
  require(interval >= 1, "the interval must be at least one epoch");
  return epochs / interval;
}

std::int64_t averaging_saving(std::int64_t batches_per_worker, std::int64_t interval) {
  require(batches_per_worker >= 1, "a worker must have a batch");
  require(interval >= 1, "the interval must be at least one epoch");
  return batches_per_worker * interval;
}

double averaging_words(std::int64_t averagings, double parameters, std::int64_t workers) {
  require(averagings >= 0, "averagings must not be negative");
  require(parameters >= 0, "parameters must not be negative");
  require(workers >= 1, "there must be a worker");
  const auto w = static_cast<double>(workers);
  return static_cast<double>(averagings) * 2 * (w - 1) / w * parameters;
}

std::int64_t parts_on_gpu(std::int64_t parts, std::int64_t gpus, std::int64_t gpu) {
  require(parts >= 0, "parts must not be negative");
  require(gpus >= 1 && gpu >= 0 && gpu < gpus, "the GPU must be one of the GPUs");
  return gpu < parts ? (parts - 1 - gpu) / gpus + 1 : 0;
}

}  // namespace orrery::cost
