#include "core/strategy/strategy.hpp"

#include "core/base/error.hpp"

namespace orrery {
namespace {

/// Keeps only the structures.
class PlainSession final : public RankSession {
 public:
  PlainSession(Runtime& rt, const Strategy& strategy) : rt_(rt), strategy_(strategy) {}
  std::unique_ptr<RankProducts> load(std::shared_ptr<const Structure> structure) override {
    return strategy_.load(rt_, std::move(structure));
  }

 private:
  Runtime& rt_;
  const Strategy& strategy_;
};

}  // namespace

std::unique_ptr<RankSession> Strategy::open(Runtime& rt) const {
  return std::make_unique<PlainSession>(rt, *this);
}

std::unique_ptr<RankProducts> Strategy::load(Runtime&, std::shared_ptr<const Structure>) const {
  ORRERY_ASSERT(!"a strategy answers open() or load()");
  return nullptr;
}

}  // namespace orrery
