#include "core/cost/cagnet.hpp"

#include <algorithm>
#include <cmath>

#include "core/cost/require.hpp"

namespace orrery::cost {
namespace {

double dense_words(const Product& product) { return product.vertices * product.width; }

void require_dense(const Product& product, double processes) {
  require_positive(product.vertices, "vertices");
  require_positive(product.width, "width");
  require_count(processes, "processes");
}

void require_sparse(const Product& product, double processes) {
  require_dense(product, processes);
  require_positive(product.nonzeros, "nonzeros");
}

void require_copies(double processes, double copies) {
  require_count(copies, "copies");
  require(copies * copies <= processes, "the square of the copies must not exceed the processes");
}

double side_of_square(double processes) {
  const double side = std::round(std::sqrt(processes));
  require(side * side == processes, "2D needs a square number of processes");
  return side;
}

double side_of_cube(double processes) {
  const double side = std::round(std::cbrt(processes));
  require(side * side * side == processes, "3D needs a cube number of processes");
  return side;
}

Traffic per_layer(double layers, double processes, const Traffic& one) {
  require_count(layers, "layers");
  if (processes == 1) return {};
  return {layers * one.words, layers * one.messages};
}

}  // namespace

double traffic_seconds(const Traffic& traffic, double seconds_per_message,
                       double seconds_per_word) {
  require(seconds_per_message >= 0, "the time of a message must not be negative");
  require(seconds_per_word >= 0, "the time of a word must not be negative");
  return seconds_per_message * traffic.messages + seconds_per_word * traffic.words;
}

Traffic spmm_1d_traffic(const Product& product, double processes) {
  require_dense(product, processes);
  return {dense_words(product) * (processes - 1) / processes, processes * std::log2(processes)};
}

Traffic spmm_1d_sparse_traffic(const Product& product, double remote_rows, double processes) {
  require_dense(product, processes);
  const double most = processes > 1 ? product.vertices : 0;
  require(remote_rows >= 0 && remote_rows <= most,
          "the rows needed of other processes must be in [0, n], and none for one process");
  return {remote_rows * product.width, processes - 1};
}

Traffic spmm_15d_traffic(const Product& product, double processes, double copies) {
  require_dense(product, processes);
  require_copies(processes, copies);
  const double row_share = dense_words(product) / processes;
  const double broadcast = dense_words(product) / copies - row_share;
  const double stages = processes / (copies * copies);
  return {broadcast + 2 * (copies - 1) * row_share,
          stages * std::log2(processes / copies) + 2 * (copies - 1)};
}

double best_replication(double processes) {
  require_count(processes, "processes");
  return std::max(1.0, std::sqrt(processes / 2));
}

Traffic spmm_2d_traffic(const Product& product, double processes) {
  require_sparse(product, processes);
  const double side = side_of_square(processes);
  return {(side - 1) * (product.nonzeros + dense_words(product)) / processes,
          2 * side * std::log2(side)};
}

Traffic gemm_2d_traffic(const Product& product, double processes) {
  require_dense(product, processes);
  const double side = side_of_square(processes);
  return {(side - 1) * dense_words(product) / processes, side * std::log2(side)};
}

Traffic spmm_3d_traffic(const Product& product, double processes) {
  require_sparse(product, processes);
  const double side = side_of_cube(processes);
  return {(side - 1) * (product.nonzeros + 2 * dense_words(product)) / processes,
          2 * side * std::log2(side) + side - 1};
}

double held_words_1d(const Product& product, double processes) {
  require_dense(product, processes);
  return dense_words(product) / processes;
}

double held_words_15d(const Product& product, double processes, double copies) {
  require_copies(processes, copies);
  return copies * held_words_1d(product, processes);
}

double held_words_3d(const Product& product, double processes) {
  return side_of_cube(processes) * held_words_1d(product, processes);
}

Traffic epoch_1d_traffic(const Product& product, double layers, double edge_cut, double processes) {
  require_dense(product, processes);
  require(edge_cut >= 0, "the edge cut must not be negative");
  const double f = product.width;
  const double words = edge_cut * f + dense_words(product) + f * f;
  return per_layer(layers, processes, {words, 3 * std::log2(processes)});
}

Traffic epoch_15d_traffic(const Product& product, double layers, double processes, double copies) {
  const Traffic spmm = spmm_15d_traffic(product, processes, copies);
  const double others = processes / copies - 1;
  const double gradient = 2 * product.width * product.width * others / (others + 1);
  return per_layer(layers, processes, {2 * spmm.words + gradient, 2 * spmm.messages + 2 * others});
}

Traffic epoch_2d_traffic(const Product& product, double layers, double processes) {
  require_sparse(product, processes);
  const double side = side_of_square(processes);
  const double words = (8 * dense_words(product) + 2 * product.nonzeros) / side;
  return per_layer(layers, processes,
                   {words + product.width * product.width, 5 * side + 3 * std::log2(processes)});
}

Traffic epoch_3d_traffic(const Product& product, double layers, double processes) {
  require_sparse(product, processes);
  const double side = side_of_cube(processes);
  const double words = (2 * product.nonzeros + 12 * dense_words(product)) / (side * side);
  return per_layer(layers, processes, {words, 4 * side});
}

}  // namespace orrery::cost
