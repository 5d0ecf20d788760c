#include "experiments/calibrate/grids.hpp"

#include "core/base/error.hpp"
#include "sim/price/price_point.hpp"

namespace orrery::calibrate {
namespace {

using Axes = std::vector<sim::PriceTable::Axis>;

constexpr double kKiB = 1024, kMiB = 1024 * kKiB;

Axes full_axes(const std::string& key) {
  if (key == "spmm")
    return {{"rows", {128, 2048, 8192, 32768}},
            {"degree", {0.5, 6, 64}},
            {"width", {4, 16, 64, 256}},
            {"ragged", {1, 2}},
            {"reuse_bytes", {128 * kKiB, 1 * kMiB, 6 * kMiB, 24 * kMiB, 96 * kMiB}}};
  if (key == "spmm/heads")
    return {
        {"rows", {128, 2048, 32768}}, {"degree", {6, 64}}, {"heads", {2, 8}},
        {"columns", {2, 8, 64}},      {"ragged", {1, 2}},  {"reuse_bytes", {1 * kMiB, 24 * kMiB}}};
  if (key == "spmm/columns")  // a value for each column: rows of one entry are those of pairs
    return {{"rows", {256, 4096, 65536}},
            {"degree", {1, 4}},
            {"width", {8, 32, 64}},
            {"ragged", {1, 2}},
            {"reuse_bytes", {1 * kMiB, 24 * kMiB}}};
  if (key == "sddmm")
    return {
        {"rows", {128, 2048, 32768}}, {"degree", {6, 64}}, {"heads", {1, 8}},
        {"columns", {1, 8, 64}},      {"ragged", {1, 2}},  {"reuse_bytes", {1 * kMiB, 24 * kMiB}}};
  if (key.starts_with("edge_softmax"))
    return {{"size", {256, 32768, 1048576, 4194304}}, {"width", {1, 4, 8}}};
  if (key == "gemm/transpose_a")  // a weight gradient: k is the number of vertices
    return {{"m", {16, 64, 256, 1024}}, {"n16", {16, 64, 256}}, {"k", {256, 4096, 32768}}};
  if (key == "gemm/transpose_ab") return {{"m", {64, 4096}}, {"n16", {16, 128}}, {"k", {16, 256}}};
  if (key.starts_with("gemm"))
    return {{"m", {64, 1024, 16384}}, {"n16", {16, 64, 256}}, {"k", {4, 16, 64, 256, 1024}}};
  if (key.starts_with("loss"))
    return {{"targets", {16, 128, 1024, 8192}},
            {"width", {4, 16, 41, 128}},
            {"rows_per_target", {1, 4, 16}}};
  if (key.starts_with("score"))
    return {{"targets", {16, 128, 1024, 8192}}, {"width", {4, 16, 41, 128}}};
  if (key == "sgd" || key == "adam") return {{"size", {64, 1024, 16384, 262144, 2097152}}};
  if (key == "relabel" || key == "transpose_sparse")
    return {{"size", {64, 1024, 16384, 262144, 2097152}}};
  if (key == "load/features") return {{"size", {1024, 65536, 1048576}}, {"width", {8, 128}}};
  if (key.starts_with("load/") || key == "save") return {{"size", {1024, 65536, 1048576}}};
  return {{"size", {256, 4096, 32768, 262144, 1048576, 4194304}},
          {"width", {4, 8, 32, 64, 256}},
          {"ragged", {1, 2}}};
}

Axes full_gpu_axes(const std::string& key) {
  if (key == "spmm")
    return {{"rows", {4096, 65536, 262144}},
            {"degree", {1, 4, 16, 64}},
            {"width", {16, 64, 256}},
            {"ragged", {1, 2}},
            {"reuse_bytes", {1 * kMiB, 32 * kMiB, 256 * kMiB}},
            {"skew", {1, 8, 128}}};
  if (key == "spmm/heads")
    return {{"rows", {4096, 65536, 262144}},
            {"degree", {4, 64}},
            {"heads", {2, 8}},
            {"columns", {2, 8, 64}},
            {"ragged", {1, 2}},
            {"reuse_bytes", {1 * kMiB, 256 * kMiB}},
            {"skew", {1, 128}}};
  if (key == "spmm/columns")
    return {{"rows", {4096, 65536}},
            {"degree", {1, 16}},
            {"width", {8, 32, 64}},
            {"ragged", {1, 2}},
            {"reuse_bytes", {1 * kMiB, 256 * kMiB}}};
  if (key == "sddmm")
    return {{"rows", {4096, 65536, 262144}},
            {"degree", {4, 64}},
            {"heads", {1, 8}},
            {"columns", {1, 8, 64}},
            {"ragged", {1, 2}},
            {"reuse_bytes", {1 * kMiB, 256 * kMiB}}};
  if (key.starts_with("edge_softmax"))
    return {{"size", {1024, 65536, 8388608, 33554432}}, {"width", {1, 4, 8}}};
  if (key == "gemm/transpose_a")
    return {{"m", {16, 64, 256, 1024}}, {"n16", {16, 64, 256}}, {"k", {1024, 16384, 131072}}};
  if (key == "gemm/transpose_ab") return {{"m", {64, 4096}}, {"n16", {16, 128}}, {"k", {16, 256}}};
  if (key.starts_with("gemm"))
    return {
        {"m", {64, 1024, 16384, 131072}}, {"n16", {16, 64, 256}}, {"k", {4, 16, 64, 256, 1024}}};
  if (key.starts_with("loss"))
    return {
        {"targets", {128, 2048, 32768}}, {"width", {4, 16, 41, 128}}, {"rows_per_target", {1, 16}}};
  if (key.starts_with("score"))
    return {{"targets", {128, 2048, 32768}}, {"width", {4, 16, 41, 128}}};
  if (key == "sgd" || key == "adam") return {{"size", {1024, 65536, 1048576, 4194304, 16777216}}};
  if (key == "relabel" || key == "transpose_sparse")
    return {{"size", {1024, 65536, 1048576, 8388608}}};
  if (key == "load/features") return {{"size", {1024, 65536, 4194304}}, {"width", {8, 128}}};
  if (key.starts_with("load/") || key == "save") return {{"size", {1024, 65536, 4194304}}};
  return {{"size", {1024, 65536, 1048576, 8388608, 33554432}},
          {"width", {4, 16, 64, 256}},
          {"ragged", {1, 2}}};
}

/// For tests, on emulated GPUs.
Axes tiny_gpu_axes(Axes axes) {
  for (sim::PriceTable::Axis& axis : axes) {
    if (axis.name == "reuse_bytes")
      axis.points = {kKiB, 4 * kKiB};
    else if (axis.name == "heads")
      axis.points = {2, 4};
    else if (axis.name == "n16")
      axis.points = {16, 32};
    else if (axis.name == "ragged" || axis.name == "skew" || axis.name == "rows_per_target")
      axis.points = {1, 2};
    else
      axis.points = {8, 32};
  }
  return axes;
}

/// First, middle and last point; tests take the first two, which are quick.
void thin(Axes& axes, Effort effort) {
  for (sim::PriceTable::Axis& axis : axes) {
    auto& points = axis.points;
    if (effort == Effort::tiny)
      points = {points[0], points[1]};
    else if (points.size() > 3)
      points = {points.front(), points[points.size() / 2], points.back()};
  }
}

/// A grid of a minute in all, for machines that nobody has measured. Sizes of what passes over numbers
/// once stay, because they are in a cache or not; products do less work, beyond which time grows with it.
void coarsen(const std::string& key, Axes& axes) {
  constexpr double kMostRows = 8192;
  const bool sized = axes.front().name == "size";
  if (!sized) thin(axes, Effort::quick);
  for (sim::PriceTable::Axis& axis : axes) {
    auto& points = axis.points;
    if (axis.name == "rows" || (sized && axis.name == "width"))
      points = {points.front(), points.back()};
    else if (axis.name == "ragged" && key != "spmm")
      points = {1};
    if (axis.name == "rows" || axis.name == "k") points.back() = std::min(points.back(), kMostRows);
  }
}

/// One grid per price key.
template <class AxesOf>
std::vector<Grid> each_key(const AxesOf& axes_of) {
  std::vector<Grid> all;
  for (const std::string& key : sim::price_keys()) {
    Axes axes = axes_of(key);
    for (const sim::PriceTable::Axis& axis : axes) ORRERY_ASSERT(sim::has_axis(key, axis.name));
    all.push_back({key, std::move(axes)});
  }
  return all;
}

}  // namespace

std::vector<Grid> grids(Effort effort) {
  return each_key([effort](const std::string& key) {
    Axes axes = full_axes(key);
    if (effort == Effort::tiny) thin(axes, effort);
    if (effort == Effort::quick) coarsen(key, axes);
    return axes;
  });
}

std::vector<Grid> gpu_grids(Effort effort) {
  return each_key([effort](const std::string& key) {
    Axes axes = full_gpu_axes(key);
    if (effort == Effort::tiny) return tiny_gpu_axes(std::move(axes));
    if (effort == Effort::quick) thin(axes, effort);
    return axes;
  });
}

std::vector<double> thread_points(int cores) {
  std::vector<double> points;
  for (int threads = 1; threads < cores; threads *= 2) points.push_back(threads);
  points.push_back(cores);
  return points;
}

}  // namespace orrery::calibrate
