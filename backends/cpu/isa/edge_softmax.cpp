// Softmax over the entries of each row, and its adjoint. Numbers of a row are adjacent, and those
// of an edge's heads side by side: a vector holds some heads of one edge.
#include "backends/cpu/isa/exponential.hpp"
#include "backends/cpu/isa/isa_kernels.hpp"
#include "backends/cpu/isa/vector.hpp"

namespace orrery::cpu::ORRERY_ISA {
namespace {

/// How far ahead of their use columns, and the data for them, are prefetched.
constexpr std::int64_t kEdgesAhead = 64, kEndsAhead = 16;

/// left + right of entry e, and its own number, of heads [head, head + lanes).
template <int lanes>
inline Vector<lanes> sum_of_ends(const EdgeSoftmaxArgs& a, Vector<lanes> left, std::int64_t e,
                                 std::int64_t head) {
  __builtin_prefetch(a.columns + smaller(e + kEdgesAhead, a.last_edge));
  __builtin_prefetch(a.right.row(a.columns[smaller(e + kEndsAhead, a.last_edge)]) + head);
  const Vector<lanes> sum = left + load<lanes>(a.right.row(a.columns[e]) + head);
  return a.own != nullptr ? sum + load<lanes>(a.own + e * a.heads + head) : sum;
}

/// Heads [head, head + lanes) of the rows of a range.
template <int lanes>
void forward(const EdgeSoftmaxArgs& args, std::int64_t begin, std::int64_t end, std::int64_t head) {
  using Floats = Vector<lanes>;
  const EdgeSoftmaxArgs a = args;  // a copy, so that no store to weights can change it
  const bool ends = a.left.first != nullptr;
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t first = a.offsets[r], last = a.offsets[r + 1];
    if (first == last) continue;
    float* row = a.weights + head;
    Floats left = {}, largest = Floats{} - __builtin_inff(), sum = {};
    if (ends) left = load<lanes>(a.left.row(r) + head);
    for (std::int64_t e = first; e < last; ++e) {
      float* at = row + e * a.heads;
      Floats score;
      if (ends) {
        const Floats u = sum_of_ends<lanes>(a, left, e, head);
        score = u > 0 ? u : a.slope * u;
      } else {
        score = a.scale * load<lanes>(at);
      }
      largest = score > largest ? score : largest;
      store<lanes>(at, score);
    }
    for (std::int64_t e = first; e < last; ++e) {
      float* at = row + e * a.heads;
      const Floats power = exp_of_negative<lanes>(load<lanes>(at) - largest);
      sum += power;
      store<lanes>(at, power);
    }
    const Floats share = 1.0F / sum;
    for (std::int64_t e = first; e < last; ++e) {
      float* at = row + e * a.heads;
      store<lanes>(at, load<lanes>(at) * share);
    }
  }
}

template <int lanes>
void backward(const EdgeSoftmaxArgs& args, const EdgeGradientArgs& to, std::int64_t begin,
              std::int64_t end, std::int64_t head) {
  using Floats = Vector<lanes>;
  const EdgeSoftmaxArgs a = args;
  const bool ends = a.left.first != nullptr;
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t first = a.offsets[r], last = a.offsets[r + 1];
    const float* weights = a.weights + head;
    float* gradient = to.gradient + head;
    Floats left = {}, mean = {}, sum = {};
    if (ends) left = load<lanes>(a.left.row(r) + head);
    for (std::int64_t e = first; e < last; ++e)
      mean += load<lanes>(weights + e * a.heads) * load<lanes>(gradient + e * a.heads);
    for (std::int64_t e = first; e < last; ++e) {
      float* at = gradient + e * a.heads;
      Floats score = load<lanes>(weights + e * a.heads) * (load<lanes>(at) - mean);
      if (ends) {
        const Floats u = sum_of_ends<lanes>(a, left, e, head);
        score = u > 0 ? score : a.slope * score;
      } else {
        score *= a.scale;
      }
      sum += score;
      store<lanes>(at, score);
    }
    if (ends) store<lanes>(to.dleft.row(r) + head, sum);
  }
}

/// Calls body<lanes>(head) for vectors of heads that cover heads [head, heads).
template <int lanes, class Body>
void each_head(std::int64_t heads, std::int64_t head, const Body& body) {
  for (; head + lanes <= heads; head += lanes) body.template operator()<lanes>(head);
  if constexpr (lanes > 1) each_head<lanes / 2>(heads, head, body);
}

}  // namespace

void edge_softmax(const EdgeSoftmaxArgs& args, std::int64_t begin, std::int64_t end) {
  each_head<kLanes>(args.heads, 0,
                    [&]<int lanes>(std::int64_t head) { forward<lanes>(args, begin, end, head); });
}

void edge_softmax_backward(const EdgeSoftmaxArgs& args, const EdgeGradientArgs& gradient,
                           std::int64_t begin, std::int64_t end) {
  each_head<kLanes>(args.heads, 0, [&]<int lanes>(std::int64_t head) {
    backward<lanes>(args, gradient, begin, end, head);
  });
}

}  // namespace orrery::cpu::ORRERY_ISA
