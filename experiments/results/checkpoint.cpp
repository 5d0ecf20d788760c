#include "experiments/results/checkpoint.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <cmath>
#include <cstring>

#include "core/base/error.hpp"
#include "experiments/config/strategy_keys.hpp"
#include "experiments/results/differences.hpp"
#include "experiments/results/results.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

// Layout: magic, length of the header, header (JSON), rows of float32 one after the other, CRC-32
// of all before it.
constexpr std::string_view kMagic = "ORRERYC1";

std::uint32_t crc_of(const char* data, std::size_t size) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const unsigned char*>(data), size));
}

template <class T>
void append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// What the weights of a run depend on, besides its length.
Json identity(const Json& resolved) {
  Json train = resolved["train"];
  for (const char* key : {"epochs", "eval_every", "checkpoint_every", "checkpoint_steps",
                          "cuda_graph", "patience", "keep_best", "metrics"})
    train.erase(key);
  Json all{{"seed", resolved["seed"]},
           {"dataset", resolved["dataset"]},
           {"model", resolved["model"]},
           {"train", train}};
  all.update(learned_from(resolved));
  return all;
}

/// What identity() looks up in the stored experiment.
void require_identity(const JsonReader& kept) {
  for (const char* key : {"train", "dataset", "model", "strategy"}) kept.object(key);
  if (!kept.has("seed")) kept.fail("seed", "expected a whole number, found none");
  kept.get<std::string>("strategy/type");
  for (const char* key : {"partition", "cluster"})
    if (kept.has(key)) kept.object(key);
}

constexpr const char* kResumeTheSame =
    "resume with the same experiment, or start over without --resume";

void require_same_identity(const Json& kept, const Json& now, const std::string& origin,
                           const char* advice = kResumeTheSame) {
  if (kept.contains("strategy") != now.contains("strategy")) {
    const auto learned = [](const Json& of) {
      return of.contains("strategy") ? "with " + of["strategy"].dump()
                                     : std::string("on the whole graph, with exact gradients");
    };
    throw ConfigError("strategy",
                      fmt::format("the weights here are learned {}, but those in {} {}; {}",
                                  learned(now), origin, learned(kept), advice));
  }
  for (const Difference& one : differences(kept, now)) {
    // Its meaning is known with the graph, and is the same for the same data.
    const bool by_graph = one.kept == "\"auto\"" || one.now == "\"auto\"";
    if ((one.key == "model.normalisation" || one.key == "partition.parts") && by_graph) continue;
    // The number that fits is known with the strategy, and compared then.
    const auto fits = [](const std::string& text) {
      return text == "\"fit\"" || text == "\"fit_drawn\"";
    };
    if (one.key == "strategy.batch" && (fits(one.kept) || fits(one.now))) continue;
    throw ConfigError(
        one.key, fmt::format("is {} here, but {} in {}; {}", one.now, one.kept, origin, advice));
  }
}

Json to_json(const std::vector<NamedShape>& names) {
  Json list = Json::array();
  for (const NamedShape& one : names)
    list.push_back({{"name", one.name}, {"shape", {one.shape.rows, one.shape.cols}}});
  return list;
}

Json to_json(const BestSoFar& best) {
  Json kept{{"epoch", best.epoch}, {"validation_accuracy", best.validation}};
  if (std::isfinite(best.lowest_loss))
    kept.update(Json{{"highest_accuracy", best.highest},
                     {"lowest_loss", best.lowest_loss},
                     {"as_good", best.as_good}});
  return kept;
}

/// Its inverse; `header` has a best epoch.
BestSoFar best_of(const JsonReader& header) {
  BestSoFar best;
  best.epoch = best.as_good = static_cast<int>(header.count("best/epoch"));
  best.validation = best.highest = header.get<double>("best/validation_accuracy");
  if (!header.has("best/lowest_loss")) return best;
  best.highest = header.get<double>("best/highest_accuracy");
  best.lowest_loss = header.get<double>("best/lowest_loss");
  best.as_good = static_cast<int>(header.count("best/as_good"));
  return best;
}

/// Takes bytes from the front; DataError where they are not there.
class Reader {
 public:
  Reader(std::string_view bytes, const std::string& origin) : bytes_(bytes), origin_(origin) {}
  std::string_view take(std::size_t size) {
    if (size > bytes_.size())
      throw DataError(origin_, "",
                      fmt::format("is no whole checkpoint: expected {} bytes more, found {}", size,
                                  bytes_.size()));
    const auto front = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return front;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

  std::size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
  const std::string& origin_;
};

}  // namespace

void require_same_experiment(const JsonReader& kept, const Json& now, const std::string& origin) {
  require_identity(kept);
  require_same_identity(identity(kept.json()), identity(now), origin);
}

void write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint,
                      const Json& resolved, const std::optional<FromData>& data,
                      const ModelConfig* model, Kept kept) {
  Json header{{"kept", kept == Kept::model ? "model" : "training"},
              {"epochs", checkpoint.epochs},
              {"steps", checkpoint.steps},
              {"losses", checkpoint.losses},
              {"experiment", identity(resolved)}};
  if (checkpoint.best) header["best"] = to_json(*checkpoint.best);
  if (data) header["widths"] = {{"features", data->features}, {"classes", data->classes}};
  if (data && !data->fingerprint.empty()) header["data"] = data->fingerprint;
  if (data && model != nullptr) {
    const NamedState names = named_state(*model, data->features, data->classes);
    header["weights"] = to_json(names.weights);
    header["averages"] = to_json(names.averages);
  }
  if (model != nullptr && !model->relations.empty()) header["relations"] = model->relations;
  header["rows"] = Json::array();
  for (const auto& row : checkpoint.state) header["rows"].push_back(row.size());
  const std::string text = header.dump();
  std::string bytes(kMagic);
  append(bytes, static_cast<std::uint64_t>(text.size()));
  bytes += text;
  for (const auto& row : checkpoint.state)
    bytes.append(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(float));
  append(bytes, crc_of(bytes.data(), bytes.size()));
  write_file(file, bytes);
}

namespace {

/// `require`: called with the experiment of the checkpoint.
template <class Require>
ModelCheckpoint parse(const std::string& bytes, const std::string& origin, const Require& require) {
  std::uint32_t kept = 0;
  if (!bytes.starts_with(kMagic)) throw DataError(origin, "", "is no checkpoint of Orrery");
  if (bytes.size() < kMagic.size() + sizeof kept) throw DataError(origin, "", "ends too early");
  const std::size_t body = bytes.size() - sizeof kept;
  std::memcpy(&kept, bytes.data() + body, sizeof kept);
  if (kept != crc_of(bytes.data(), body))
    throw DataError(origin, "", "is damaged: its checksum does not match; remove it to start over");
  Reader in(std::string_view(bytes).substr(kMagic.size(), body - kMagic.size()), origin);
  const JsonReader header(in.take(in.number<std::uint64_t>()), origin, "header");
  const std::string kind = header.get<std::string>("kept", "training");
  if (kind != "training" && kind != "model")
    header.fail("kept", fmt::format("expected \"training\" or \"model\", found \"{}\"", kind));
  require(header.object("experiment"), kind == "model" ? Kept::model : Kept::training);
  Checkpoint checkpoint;
  const auto count = [&](const char* key) {
    const int number = header.get<int>(key);
    if (number < 0) header.fail(key, fmt::format("expected a count, found {}", number));
    return number;
  };
  checkpoint.epochs = count("epochs");
  if (header.has("steps")) checkpoint.steps = count("steps");
  if (checkpoint.steps > 0) checkpoint.losses = header.get<std::vector<double>>("losses");
  if (header.has("best")) checkpoint.best = best_of(header);
  for (const std::int64_t size : header.counts("rows")) {
    const auto floats = static_cast<std::size_t>(size);
    if (floats > in.left() / sizeof(float))
      header.fail("rows", fmt::format("expected at most the {} numbers that are left, found {}",
                                      in.left() / sizeof(float), size));
    const auto raw = in.take(floats * sizeof(float));
    std::vector<float> row(floats);
    if (!row.empty()) std::memcpy(row.data(), raw.data(), raw.size());
    checkpoint.state.push_back(std::move(row));
  }
  if (in.left() != 0)
    throw DataError(origin, "", fmt::format("holds {} bytes behind its last row", in.left()));
  std::optional<FromData> data;
  if (header.has("widths"))
    data = FromData{header.count("widths/features"), header.count("widths/classes")};
  if (data && header.has("data")) data->fingerprint = header.get<std::string>("data");
  std::vector<std::string> relations;
  if (header.has("relations")) relations = header.get<std::vector<std::string>>("relations");
  return {std::move(checkpoint), std::move(data), std::move(relations)};
}

/// The keys that define which weights a model has; the others say how they were found.
Json layers_of(const Json& model) {
  Json layers{{"model", model}};
  for (const char* key : {"dropout", "attention_dropout", "order", "recompute", "sparse_input"})
    layers["model"].erase(key);
  return layers;
}

}  // namespace

void require_same_relations(const ModelCheckpoint& kept, const std::vector<std::string>& now,
                            const std::string& key) {
  if (!kept.relations.empty() && kept.relations != now)
    throw ConfigError(key,
                      fmt::format("has weights of the relations {}, and the data set has {}",
                                  fmt::join(kept.relations, ", "),
                                  now.empty() ? "none" : fmt::to_string(fmt::join(now, ", "))));
}

void require_same_widths(const ModelCheckpoint& kept, const FromData& now, const std::string& key) {
  if (!kept.data) return;
  const auto require = [&](const char* of_what, std::int64_t before, std::int64_t here) {
    if (before != here)
      throw ConfigError(key,
                        fmt::format("has weights that were trained with {} {}, and the data set "
                                    "has {}; name data with as many",
                                    before, of_what, here));
  };
  require("columns of features", kept.data->features, now.features);
  require("classes", kept.data->classes, now.classes);
}

Checkpoint parse_checkpoint(const std::string& bytes, const std::string& origin,
                            const Json& resolved, const std::string& fingerprint) {
  ModelCheckpoint read = parse(bytes, origin, [&](const Json& kept, Kept kind) {
    if (kind == Kept::model)
      throw DataError(origin, "",
                      "holds a model alone, without what its training goes on from: name it as "
                      "train.weights to begin with it");
    require_same_identity(kept, identity(resolved), origin);
  });
  const std::string before = read.data ? read.data->fingerprint : "";
  if (!before.empty() && !fingerprint.empty() && before != fingerprint)
    throw ConfigError(
        "dataset", fmt::format("is other data than {} was trained on (fingerprint {}, found {}): "
                               "edges, features, labels or split have changed; bring them back, "
                               "or start over without --resume",
                               origin, before, fingerprint));
  return std::move(read.checkpoint);
}

ModelCheckpoint parse_checkpoint_of_model(const std::string& bytes, const std::string& origin,
                                          const Json& resolved, const std::string& key) {
  return parse(bytes, origin, [&](const Json& kept, Kept kind) {
    const JsonReader reader(kept.dump(), origin, "header");
    reader.object("model");
    require_same_identity(layers_of(kept["model"]), layers_of(resolved["model"]), origin,
                          "the weights fit only the model that they were trained for");
    if (kept.contains("strategy") && reader.get<bool>("strategy/learn_features", false))
      throw ConfigError(key, origin +
                                 ": its model works on features that were learned with it "
                                 "(strategy.learn_features), and inference reads those of the data "
                                 "set; train with the features that are given");
    if (kind == Kept::training && kept.contains("strategy") &&
        reader.get<std::string>("strategy/type") == "model_averaging" &&
        reader.get<std::string>("strategy/averaging", "model") == "model")
      throw ConfigError(key, origin +
                                 ": holds the local models of model_averaging; train with "
                                 "train.keep_best, which keeps their average in best.bin");
  });
}

}  // namespace orrery
