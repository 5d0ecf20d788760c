// Files that runs leave and later starts read: checkpoints, results, logs of sweeps.
#include <zlib.h>

#include <cstring>
#include <fstream>
#include <memory>

#include "core/base/error.hpp"
#include "core/runtime/epoch_parts.hpp"
#include "core/strategy/store/access_trace.hpp"
#include "experiments/infer/kept/kept_input.hpp"
#include "experiments/infer/kept/layer_files.hpp"
#include "experiments/results/checkpoint.hpp"
#include "experiments/results/resume.hpp"
#include "experiments/results/run_report.hpp"
#include "experiments/results/sweep_log.hpp"
#include "tests/fuzz/folder_input.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {
namespace {

using Json = nlohmann::ordered_json;

const Experiment& experiment() {
  static const Experiment parsed =
      parse_experiments(
          R"({"name": "x", "dataset": {"generate": "rmat", "vertices": 100}, "model": {"type": "gcn"},
          "train": {"epochs": 3}, "strategy": {"type": "full_graph"}})",
          "experiment", {})
          .front();
  return parsed;
}

/// The checksum at the end of a checkpoint, made to fit: else nothing behind it would be read.
void seal(std::string& checkpoint) {
  if (checkpoint.size() < sizeof(std::uint32_t)) return;
  const std::size_t body = checkpoint.size() - sizeof(std::uint32_t);
  const auto crc = static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const unsigned char*>(checkpoint.data()), body));
  std::memcpy(checkpoint.data() + body, &crc, sizeof crc);
}

void read_checkpoint(std::string_view input) {
  std::string bytes(input);
  if (bytes.ends_with("seal")) seal(bytes);
  try {
    parse_checkpoint_of_model(bytes, "checkpoint.bin", experiment().resolved);
  } catch (const Error&) {
  }
  parse_checkpoint(bytes, "checkpoint.bin", experiment().resolved);
}

/// A layer that an inference kept, with the size of the tile in its first byte.
void read_layer(std::string_view input) {
  if (input.empty()) return;
  scratch().fill({{"layer-1-rank-0.bin", std::string(input.substr(1))}});
  LayerFiles(scratch().path(), 1).take(0, 1, static_cast<unsigned char>(input.front()));
}

std::vector<std::string> layers() {
  scratch().fill(Files{});
  const std::vector<float> tile{1, 2, 3};
  LayerFiles(scratch().path(), 0).put(0, 1, tile);
  const std::string bytes = files_of(scratch().path()).front().second;
  return {"\3" + bytes};
}

/// Rows of a graph ('r' in the first byte) or drawn neighbours that an inference kept.
void read_kept_input(std::string_view input) {
  if (input.empty()) return;
  const bool rows = input.front() == 'r';
  scratch().fill({{rows ? "rows-0.bin" : "draws-0.bin", std::string(input.substr(1))}});
  const KeptInput kept(scratch().path(), {rows, !rows}, 0, false);
  rows ? static_cast<void>(kept.take_rows()) : static_cast<void>(kept.take_draws());
}

std::vector<std::string> input_stages() {
  scratch().fill(Files{});
  HeldRows rows{3, {0, 3}, std::make_shared<const Csr>(Csr{3, 3, {0, 1, 1, 2}, {2, 0}}), {}, false};
  const KeptInput kept(scratch().path(), {}, 0, true);
  kept.put_rows(rows, 2);
  kept.put_draws({false, {{{0, -1}, {0, 1}}}, {2}, {0}, {0}, {}});
  std::vector<std::string> seeds;
  for (const auto& [name, bytes] : files_of(scratch().path()))
    seeds.push_back(name.substr(0, 1) + bytes);
  return seeds;
}

/// What batches of two ranks asked each other for, of a graph of four vertices.
void read_trace(std::string_view input) {
  scratch().fill(unpack(input));
  read_accesses(scratch().path(), RowOwners{2, {0, 0, 1, 1}, {0, 1, 0, 1}, 1});
}

std::vector<std::string> traces() {
  scratch().fill(Files{});
  write_accesses(scratch().path(), {{{2, 3, 2}, {{{0, 0}, 2}, {{0, 1}, 3}}}, {{0}, {{{0, 0}, 1}}}});
  return {pack(files_of(scratch().path()))};
}

std::string checkpoint() {
  scratch().fill(Files{});
  write_checkpoint(scratch().path() / "c", {2, {{1, 2, 3}, {}, {4}}}, experiment().resolved);
  return files_of(scratch().path()).front().second;
}

void read_results(std::string_view input) {
  Files files = unpack(input);
  for (auto& [name, bytes] : files)
    if (name == "checkpoint.bin" && bytes.ends_with("seal")) seal(bytes);
  files.emplace_back(".lock", "");
  scratch().fill(files);
  const auto each = [&](const auto& reader) {
    try {
      reader();
    } catch (const Error&) {
      if (!find(files, "first").empty()) throw;
    }
  };
  const auto& folder = scratch().path();
  if (!find(files, "measure").empty()) {
    const JsonReader result(find(files, "result.json"), "result.json");
    require_result(result, "");
    measurement_of(result.json());
    return;
  }
  each([&] { is_complete(folder, experiment().resolved); });
  each([&] { require_same_sweep(folder, {experiment()}); });
  each([&] { SweepLog(folder / kSweepLog).find(experiment()); });
  if (!find(files, "checkpoint.bin").empty())
    take_up(ResultFolder(folder, Existing::resume), experiment().resolved);
}

Json result() {
  Json parts = Json::object();
  for (const EpochPart& part : kEpochParts) parts[part.key] = 0.25;
  return {{"strategy", "full_graph"},
          {"interrupted", false},
          {"epochs", 3},
          {"diverged_at_epoch", nullptr},
          {"val_accuracy", 0.5},
          {"test_accuracy", 0.5},
          {"epoch_seconds", 1.5},
          {"mean_epoch_seconds", 1.5},
          {"synchronise_seconds", 0.5},
          {"breakdown", parts},
          {"compute_by_kind", {{"spmm", 1}}},
          {"bytes", {{"internal", 0.0}, {"external", 5}}},
          {"peak_bytes", {7, 8}},
          {"preloading",
           {{"vertices_ratio", 1.5},
            {"edges_ratio", 2.5},
            {"rows", 3},
            {"bytes", 4},
            {"essential_peak_bytes", 5},
            {"preloaded_peak_bytes", 6}}},
          {"out_dir", "results/x"}};
}

std::vector<std::string> result_seeds() {
  std::string epochs;
  for (int e = 0; e < 3; ++e)
    epochs += epoch_json({e, 1.5, Accuracies{0.5, 0.25, std::nullopt}}, 0.125).dump() + "\n";
  const Experiment& x = experiment();
  const std::string line =
      Json{{"label", x.label}, {"config_hash", config_hash(x)}, {"result", result()}}.dump() + "\n";
  return {pack({{"result.json", result().dump()}, {"config.json", x.resolved.dump()}}),
          pack({{"measure", "1"}, {"result.json", result().dump()}}),
          pack({{"epochs.jsonl", epochs}, {"checkpoint.bin", checkpoint()}}),
          pack({{"results.jsonl", line + line}, {"base.json", x.base.dump()}, {"first", "1"}})};
}

}  // namespace

std::vector<Target> kept_targets() {
  return {{"checkpoint",
           read_checkpoint,
           [] {
             const std::string whole = checkpoint();
             return std::vector<std::string>{whole, whole.substr(0, whole.size() - 4) + "seal"};
           },
           {"ORRERYC1", "seal", "\"rows\":[", "\"epochs\":", "\"experiment\":"}},
          {"layer", read_layer, layers, {}},
          {"kept_input", read_kept_input, input_stages, {}},
          {"accesses",
           read_trace,
           traces,
           {"@@@@ accesses.npy\n", "@@@@ access_batches.npy\n", "<i8", "<i4"}},
          {"results",
           read_results,
           result_seeds,
           {"\"result\":", "\"label\":", "\"config_hash\":", "null", "@@@@ base.json\n",
            "@@@@ results.jsonl\n", "@@@@ first\n1"}}};
}

}  // namespace orrery::fuzz
