#include "core/strategy/batches/resampled_steps.hpp"

#include "core/base/index.hpp"
#include "core/base/rng.hpp"

namespace orrery {

ResampledSteps::ResampledSteps(int drawn, const std::vector<std::int64_t>& kinds,
                               std::uint64_t seed)
    : drawn_(drawn), seed_(seed), kinds_(kinds) {
  for (std::size_t step = 0; step < kinds.size(); ++step) {
    std::vector<int>& alike = steps_of_[kinds[step]];
    place_.push_back(static_cast<int>(alike.size()));
    alike.push_back(static_cast<int>(step));
  }
}

ResampledSteps::Step ResampledSteps::of(const Step& step) const {
  if (all_drawn()) return step;
  const std::vector<int>& alike = steps_of_.at(kinds_[at(step.number)]);
  const auto in_epoch = std::ssize(alike);
  if (step.epoch * in_epoch + place_[at(step.number)] < drawn_) return step;
  constexpr std::uint32_t kResampled = 0xFFFFFFFAU;  // no step
  const std::uint64_t key =
      derived_seed(seed_, Purpose::sampler, static_cast<std::uint32_t>(step.epoch), kResampled);
  const auto bits = random_bits(key, Purpose::sampler, static_cast<std::uint32_t>(step.number));
  const auto chosen = static_cast<std::int64_t>(
      uniform_below(bits[0], bits[1], static_cast<std::uint64_t>(drawn_)));
  return {static_cast<int>(chosen / in_epoch), alike[at(chosen % in_epoch)]};
}

}  // namespace orrery
