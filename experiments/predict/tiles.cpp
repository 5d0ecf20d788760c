#include "experiments/predict/tiles.hpp"

#include <map>
#include <variant>

namespace orrery {

std::vector<Tile> tiles_of_epoch(const Program& program) {
  std::map<std::uint32_t, Tile> by_id;
  Phase phase;
  for (const Step& step : program.steps) {
    if (const auto* mark = std::get_if<PhaseStep>(&step)) phase = mark->phase;
    const auto* submit = std::get_if<SubmitStep>(&step);
    if (submit == nullptr || !phase.in_epoch()) continue;
    if (const auto* product = std::get_if<SpMM>(&submit->op)) {
      const Sparse& a = product->a;
      by_id.emplace(a.id, Tile{a.shape.rows, a.shape.cols, a.nnz});
    }
  }
  std::vector<Tile> tiles;
  for (const auto& [id, tile] : by_id) tiles.push_back(tile);
  return tiles;
}

}  // namespace orrery
