// Bounds of operations that are divided: no way to divide them costs less.
#include "sim/price/least_seconds.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/price/op_seconds.hpp"

namespace orrery::sim {
namespace {

Tensor matrix(std::int64_t rows, std::int64_t cols) {
  return {.id = 1, .shape = {rows, cols}, .ld = cols};
}

Op product(std::int64_t rows, std::int64_t columns, std::int64_t nnz, std::int64_t width,
           double reuse) {
  Sparse a;
  a.shape = {rows, columns};
  a.nnz = nnz;
  a.reuse = static_cast<float>(reuse);
  SpMM op;
  op.a = a;
  op.x = matrix(columns, width);
  op.y = matrix(rows, width);
  return op;
}

Op dense(std::int64_t m, std::int64_t n, std::int64_t k) {
  Gemm op;
  op.a = matrix(m, k);
  op.b = matrix(k, n);
  op.c = matrix(m, n);
  return op;
}

/// Numbers that look like no law: between half and twice as much as the sizes say.
double noise(double at) { return std::exp(0.7 * std::sin(37.0 * at)); }

DeviceProfile measured() {
  DeviceProfile profile;
  profile.name = "made up";
  PriceTable gemm{
      {{"m", {64, 1024, 16384}}, {"n", {8, 128}}, {"k", {8, 128}}, {"threads", {1, 2}}}, {}, 0};
  for (const double m : gemm.axes[0].points)
    for (const double n : gemm.axes[1].points)
      for (const double k : gemm.axes[2].points)
        for (const double threads : gemm.axes[3].points)
          gemm.seconds.push_back(1e-9 * m * n * k / threads * noise(m + n + 3 * k));
  profile.tables["gemm"] = gemm;
  PriceTable spmm{
      {{"rows", {64, 4096}}, {"degree", {2, 64}}, {"width", {8, 128}}, {"reuse_bytes", {1e4, 1e8}}},
      {},
      0};
  for (const double rows : spmm.axes[0].points)
    for (const double degree : spmm.axes[1].points)
      for (const double width : spmm.axes[2].points)
        for (const double reuse : spmm.axes[3].points)
          spmm.seconds.push_back(1e-10 * rows * degree * width *
                                 noise(rows + degree + width + reuse));
  profile.tables["spmm"] = spmm;
  profile.in_place["spmm"] = {{{"bytes", {1e5, 1e7}}}, {1.4, 0.8}, 0};
  profile.scale["*"] = 1.5;
  return profile;
}

DeviceProfile derived() {
  DeviceProfile profile;
  profile.name = "roofline";
  profile.roofline.flops_per_second = 1e13;
  profile.roofline.bytes_per_second = 7e11;
  profile.roofline.cache_bytes = 1e6;
  profile.roofline.cache_bytes_per_second = 3e12;
  profile.roofline.multiprocessors = 80;
  profile.roofline.launch_seconds = 1e-6;
  profile.roofline.by_kind = {{"gemm", {0.7, 0.8}}, {"spmm", {0.9, 0.65}}};
  return profile;
}

TEST(LeastSeconds, AreNoMoreThanAllPartsTogether) {
  for (const DeviceProfile& profile : {measured(), derived()})
    for (const std::int64_t width : {8, 24, 128})
      for (const int parts : {1, 3, 8, 50}) {
        const std::int64_t rows = 9600;
        double sparse = 0, dense_sum = 0, by_columns = 0;
        for (int p = 0; p < parts; ++p) {
          // Unequal rows, and unequal edges in them.
          const std::int64_t from = rows * p * p / (parts * parts);
          const std::int64_t own = rows * (p + 1) * (p + 1) / (parts * parts) - from;
          const std::int64_t nnz = 200000 / parts;
          if (own == 0) continue;
          sparse += op_seconds(profile, product(own, rows, nnz, width, 0.3 / (p + 1)), 2);
          dense_sum += op_seconds(profile, dense(own, width, 40), 2);
          by_columns += op_seconds(profile, dense(own, 8, 40), 2) * static_cast<double>(width) / 8;
        }
        const Op all = product(rows, rows, 200000 / parts * parts, width, 0.3);
        const double least = least_seconds(profile, all, 2, Division::by_rows);
        EXPECT_LE(least, sparse) << profile.name << width << parts;
        EXPECT_GT(least, sparse / 40) << profile.name << width << parts;
        const Op multiplied = dense(rows, width, 40);
        EXPECT_LE(least_seconds(profile, multiplied, 2, Division::by_rows), dense_sum);
        EXPECT_LE(least_seconds(profile, multiplied, 2, Division::any), by_columns);
        EXPECT_LE(least_seconds(profile, multiplied, 2, Division::any),
                  least_seconds(profile, multiplied, 2, Division::by_rows));
      }
}

TEST(LeastSeconds, AreNoneWhereThereIsNoPriceAndNoWork) {
  DeviceProfile nothing;
  EXPECT_EQ(least_seconds(nothing, dense(4, 4, 4), 1, Division::any), 0);
  EXPECT_EQ(least_seconds(derived(), dense(0, 4, 4), 1, Division::any), 0);
}

}  // namespace
}  // namespace orrery::sim
