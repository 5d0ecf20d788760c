// The parts of an epoch, summed up while spans go by.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/runtime/timeline.hpp"

namespace orrery {

/// What spans are charged to, most important first: an instant with several spans goes to the first
/// of them. An exchange is charged to both parts of communication, by its share that crosses
/// servers.
enum class Charge : std::uint8_t { compute, exchange, synchronise, load, sample };
inline constexpr std::size_t kCharges = 5;
/// Nothing for what a host does beside its devices (writing a checkpoint): while they have nothing to
/// do the rank is idle.
std::optional<Charge> charge_of(const Span& span);

/// Makes the Breakdown of one epoch of spans that come in the order of their beginnings. It keeps
/// only those that are under way.
class BreakdownSweep {
 public:
  BreakdownSweep(const std::vector<Timeline::Mark>& marks, int epoch);
  /// Requires  a span that does not begin before the last one
  void add(const Span& span);
  /// After the last span.
  Breakdown finish();

 private:
  struct Active {
    double end, external;
    Charge charge;
  };
  using Window = std::pair<double, double>;
  void pass(double until);
  void advance(double until);
  void charge(double seconds);
  bool is_active(Charge charge) const { return active_of_[static_cast<std::size_t>(charge)] > 0; }

  std::vector<Window> windows_;  ///< when the host was in the epoch
  std::size_t window_ = 0;       ///< those before are over
  double now_ = 0;
  std::vector<Active> active_;  ///< the one that ends first is the last
  std::array<int, kCharges> active_of_{};
  std::vector<std::pair<std::string_view, double>> by_kind_;
  Breakdown result_;
};

}  // namespace orrery
