// Features of a data set in files.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/index.hpp"
#include "core/base/rng.hpp"
#include "core/graph/dataset.hpp"
#include "core/graph/files/npy.hpp"
#include "core/inference/input/feature_files.hpp"

namespace orrery::testing {

/// Rows of a data set in one file, in an order that is drawn.
class RowsInDrawnOrder {
 public:
  explicit RowsInDrawnOrder(const Dataset& data)
      : folder_(std::filesystem::path(::testing::TempDir()) /
                ("drawn_order" + std::to_string(::getpid()))) {
    const std::int64_t width = data.features->width();
    std::filesystem::create_directories(folder_);
    std::vector<Vertex> order(at(data.vertices()));
    std::iota(order.begin(), order.end(), 0);
    Sequence draws(9, Purpose::permutation, 0);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draws.below(i)]);
    std::vector<float> rows(order.size() * at(width));
    data.features->read(order, 0, width, rows.data(), width);
    NpyWriter of_rows =
        NpyWriter::create<float>(folder_ / "rows-all.npy", {data.vertices(), width});
    of_rows.append(std::span<const float>(rows));
    of_rows.close();
    NpyWriter of_ids = NpyWriter::create<std::int32_t>(folder_ / "ids-all.npy", {data.vertices()});
    of_ids.append(std::span<const Vertex>(order));
    of_ids.close();
    files = std::make_shared<const FeatureFiles>(folder_, data.vertices());
  }
  ~RowsInDrawnOrder() { std::filesystem::remove_all(folder_); }
  RowsInDrawnOrder(const RowsInDrawnOrder&) = delete;
  RowsInDrawnOrder& operator=(const RowsInDrawnOrder&) = delete;
  std::shared_ptr<const FeatureFiles> files;

 private:
  std::filesystem::path folder_;
};

}  // namespace orrery::testing
