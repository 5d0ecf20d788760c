#include "core/model/learning_rate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace orrery {

double learning_rate_in(const TrainConfig& train, int epoch) {
  const RateSchedule& s = train.schedule;
  if (epoch < s.warmup) return train.learning_rate * (epoch + 1) / (s.warmup + 1);
  const int since = epoch - s.warmup;
  const double progress =
      std::min(1.0, since / static_cast<double>(std::max(1, s.epochs - s.warmup)));
  switch (s.type) {
    case RateSchedule::Type::constant:
      return train.learning_rate;
    case RateSchedule::Type::step:
      return train.learning_rate * std::pow(s.factor, since / s.every);
    case RateSchedule::Type::linear:
      return train.learning_rate * (1 - (1 - s.least) * progress);
    case RateSchedule::Type::cosine:
      return train.learning_rate *
             (s.least + (1 - s.least) * (1 + std::cos(std::numbers::pi * progress)) / 2);
  }
  return train.learning_rate;
}

}  // namespace orrery
