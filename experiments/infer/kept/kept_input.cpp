#include "experiments/infer/kept/kept_input.hpp"

#include <fmt/core.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/index.hpp"
#include "core/base/whole_file.hpp"
#include "experiments/infer/kept/array_file.hpp"
#include "experiments/infer/kept/kept_identity.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInputIdentity = "input.json";

fs::path rows_file(const fs::path& folder, int file) {
  return folder / fmt::format("rows-{}.bin", file);
}
fs::path draws_file(const fs::path& folder, int file) {
  return folder / fmt::format("draws-{}.bin", file);
}

}  // namespace

void KeptInput::put_rows(const HeldRows& rows, std::int64_t edges) const {
  if (!writes_) return;
  const std::vector<std::int64_t> numbers{rows.vertices, rows.rows.first, rows.rows.count,
                                          rows.symmetric ? 1 : 0, edges};
  const std::vector arrays{as_bytes(numbers), as_bytes(rows.csr->offsets),
                           as_bytes(rows.csr->columns), as_bytes(rows.degrees)};
  write_arrays(rows_file(folder_, file_), arrays);
}

KeptRows KeptInput::take_rows() const {
  const ArrayFile file(rows_file(folder_, file_));
  const auto numbers = file.array<std::int64_t>(0);
  if (numbers.size() != 5) file.refuse();
  auto csr = std::make_shared<Csr>();
  *csr = {numbers[2], numbers[0], file.array<EdgeIndex>(1), file.array<Vertex>(2)};
  KeptRows kept;
  kept.rows = {
      numbers[0], {numbers[1], numbers[2]}, nullptr, file.array<Vertex>(3), numbers[3] != 0};
  kept.edges = numbers[4];
  const bool fits =
      std::ssize(csr->offsets) == csr->rows + 1 && csr->offsets.back() == csr->nnz() &&
      (kept.rows.degrees.empty() || std::ssize(kept.rows.degrees) == kept.rows.vertices);
  if (!fits) file.refuse();
  kept.rows.csr = std::move(csr);
  return kept;
}

void KeptInput::put_draws(const LayerGraphs::Drawn& drawn) const {
  if (!writes_) return;
  const std::vector<std::int64_t> alike{drawn.alike ? 1 : 0};
  std::vector arrays{as_bytes(alike), as_bytes(drawn.neighbours), as_bytes(drawn.needed),
                     as_bytes(drawn.entries), as_bytes(drawn.wanted)};
  for (const LayerGraphs::Draws& part : drawn.draws) {
    arrays.push_back(as_bytes(part.number));
    arrays.push_back(as_bytes(part.places));
  }
  write_arrays(draws_file(folder_, file_), arrays);
}

LayerGraphs::Drawn KeptInput::take_draws() const {
  const ArrayFile file(draws_file(folder_, file_));
  const auto alike = file.array<std::int64_t>(0);
  if (alike.size() != 1 || file.count() % 2 == 0) file.refuse();
  LayerGraphs::Drawn drawn{alike[0] != 0,
                           {},
                           file.array<std::int64_t>(1),
                           file.array<std::int64_t>(2),
                           file.array<std::int64_t>(3),
                           file.array<std::int64_t>(4)};
  for (std::size_t i = 5; i < at(file.count()); i += 2)
    drawn.draws.push_back({file.array<Vertex>(i), file.array<std::uint32_t>(i + 1)});
  return drawn;
}

void remove_kept_input(const fs::path& folder) {
  remove_kept(folder, [](const std::string& name) {
    return name.starts_with(kInputIdentity) ||
           ((name.starts_with("rows-") || name.starts_with("draws-")) &&
            name.find(".bin") != name.npos);
  });
}

KeptInput::There open_kept_input(const fs::path& folder, const nlohmann::ordered_json& identity,
                                 int files, bool resume) {
  if (!resume || !require_same_identity(folder / kInputIdentity, identity))
    remove_kept_input(folder);
  fs::create_directories(folder);
  if (!fs::exists(folder / kInputIdentity))
    write_file(folder / kInputIdentity, identity.dump(2) + "\n");
  KeptInput::There there{true, true};
  for (int file = 0; file < files; ++file) {
    there.rows = there.rows && fs::exists(rows_file(folder, file));
    there.draws = there.draws && fs::exists(draws_file(folder, file));
  }
  return there;
}

}  // namespace orrery
