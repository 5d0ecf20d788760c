// The updates of parameters.
#include "backends/cuda/device/launch.cuh"
#include "backends/cuda/device/ops.cuh"
#include "backends/cuda/device/varying.cuh"

namespace orrery::cuda {
namespace {

__global__ void sgd_kernel(float* w, const float* g, std::int64_t n, float rate, float decay) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) w[i] -= rate * (g[i] + decay * w[i]);
}

struct AdamFactors {
  float rate, decay, beta1, beta2, epsilon;
  OrreryVarying correction1, correction2;
};

__global__ void adam_kernel(float* w, const float* g, float* m, float* v, std::int64_t n,
                            AdamFactors f) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float gradient = g[i] + f.decay * w[i];
  const float first = f.beta1 * m[i] + (1 - f.beta1) * gradient;
  const float second = f.beta2 * v[i] + (1 - f.beta2) * gradient * gradient;
  m[i] = first;
  v[i] = second;
  w[i] -= f.rate * (first / float_of(f.correction1)) /
          (sqrtf(second / float_of(f.correction2)) + f.epsilon);
}

dim3 blocks_of(std::int64_t n) { return {extent(ceil_div(n, 256)), 1, 1}; }

}  // namespace

void sgd(OrreryStream& s, float* w, const float* g, std::int64_t n, float rate, float decay) {
  launch(s, sgd_kernel, blocks_of(n), dim3{256, 1, 1}, w, g, n, rate, decay);
}

void adam(OrreryStream& s, float* w, const float* g, float* m, float* v, std::int64_t n, float rate,
          float decay, float beta1, float beta2, float epsilon, OrreryVarying correction1,
          OrreryVarying correction2) {
  launch(s, adam_kernel, blocks_of(n), dim3{256, 1, 1}, w, g, m, v, n,
         AdamFactors{rate, decay, beta1, beta2, epsilon, correction1, correction2});
}

}  // namespace orrery::cuda
