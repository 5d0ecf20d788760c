#include "core/cost/deal.hpp"

#include <cmath>

#include "core/cost/require.hpp"

namespace orrery::cost {
namespace {

void require_setting(const DealSetting& s) {
  require_positive(s.nodes, "nodes");
  require_positive(s.width, "width");
  require(s.nonzeros_per_column >= 0, "non-zeros per column must not be negative");
  require_count(s.row_parts, "parts of the rows");
  require_count(s.feature_parts, "parts of the features");
}

void require_gemm(const DealSetting& s, double out_width) {
  require_setting(s);
  require_positive(out_width, "the width of the result");
}

/// Rows of H that other parts own.
double remote_rows(const DealSetting& s) { return s.nodes * (s.row_parts - 1) / s.row_parts; }

double needed_by_part(const DealSetting& s) {
  return needed_share(s.nonzeros_per_column, s.row_parts);
}

/// Input of a machine that computes 1/chunks of its part's rows.
double sddmm_features(const DealSetting& s, double chunks) {
  const double needed = needed_share(s.nonzeros_per_column, s.row_parts * chunks);
  const double own = s.nodes / s.row_parts;
  return sddmm_input_words(remote_rows(s) * needed, own * needed, own / chunks, s.width,
                           s.feature_parts);
}

}  // namespace

double gemm_reduce_received_words(const DealSetting& s, double out_width) {
  require_gemm(s, out_width);
  return (s.feature_parts - 1) * s.nodes * out_width / (s.row_parts * s.feature_parts);
}

double gemm_reduce_held_words(const DealSetting& s, double out_width) {
  require_gemm(s, out_width);
  return s.nodes * out_width / s.row_parts;
}

double gemm_rotate_received_words(const DealSetting& s, double out_width) {
  require_gemm(s, out_width);
  const double block_rows = s.nodes / (s.row_parts * s.feature_parts);
  return (s.feature_parts - 1) * block_rows * (s.width + out_width) / s.feature_parts;
}

double gemm_rotate_held_words(const DealSetting& s, double out_width) {
  require_gemm(s, out_width);
  return s.nodes * out_width / (s.row_parts * s.feature_parts);
}

double needed_share(double nonzeros_per_column, double parts) {
  require(nonzeros_per_column >= 0, "non-zeros per column must not be negative");
  require_count(parts, "parts");
  return 1 - std::pow(1 - 1 / parts, nonzeros_per_column);
}

SpmmWords spmm_fetch_words(const DealSetting& s) {
  require_setting(s);
  const double rows = remote_rows(s) * needed_by_part(s);
  return {rows, rows * s.width / s.feature_parts, 0};
}

SpmmWords spmm_exchange_words(const DealSetting& s) {
  require_setting(s);
  const double entries = remote_rows(s) * s.nonzeros_per_column / s.row_parts;
  return {2 * entries, 0, remote_rows(s) * s.width / s.feature_parts};
}

SpmmWords spmm_2d_words(const DealSetting& s) {
  require_setting(s);
  const double machines = s.row_parts * s.feature_parts;
  const double asked = s.nodes * needed_by_part(s) * (1 - 1 / machines);
  return {asked, asked * s.width / s.feature_parts,
          (s.feature_parts - 1) * s.nodes * s.width / machines};
}

double sddmm_input_words(double remote, double local, double rows, double width,
                         double feature_parts) {
  require(remote >= 0 && local >= 0 && rows >= 0, "counts of nodes must not be negative");
  require_positive(width, "width");
  require_count(feature_parts, "parts of the features");
  return remote * width + (local + rows) * (width - width / feature_parts);
}

SddmmWords sddmm_duplicate_words(const DealSetting& s) {
  require_setting(s);
  return {sddmm_features(s, 1), 0};
}

SddmmWords sddmm_split_words(const DealSetting& s) {
  require_setting(s);
  const double entries = s.nodes * s.nonzeros_per_column / s.row_parts;
  return {sddmm_features(s, s.feature_parts), entries * (s.feature_parts - 1) / s.feature_parts};
}

}  // namespace orrery::cost
