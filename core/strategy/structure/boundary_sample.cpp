#include "core/strategy/structure/boundary_sample.hpp"

#include "core/base/index.hpp"
#include "core/base/rng.hpp"

namespace orrery {
namespace {

/// The rows that one pair of ranks exchanges in an epoch.
class Draw {
 public:
  Draw(const BoundarySampling& sampling, int epoch)
      : rate_(sampling.rate),
        seed_(derived_seed(sampling.seed, Purpose::boundary, static_cast<std::uint32_t>(epoch))) {}

  bool keeps(int sender, int receiver, std::int64_t k) const {
    const auto bits =
        random_bits(seed_, Purpose::boundary, static_cast<std::uint32_t>(k),
                    static_cast<std::uint32_t>(sender), static_cast<std::uint32_t>(receiver));
    return uniform_double(bits[0], bits[1]) < rate_;
  }

 private:
  double rate_;
  std::uint64_t seed_;
};

/// The numbers of the kept rows, of all pairs one after the other, and their count for each pair.
struct Kept {
  std::vector<std::int64_t> rows, counts;
};

/// `keeps(peer, k)`: whether the k-th row of the pair with that peer is kept.
template <class Keeps>
Kept kept_of(const std::vector<std::int64_t>& counts, const Keeps& keeps) {
  Kept kept;
  std::int64_t row = 0;
  for (std::size_t peer = 0; peer < counts.size(); ++peer) {
    const auto before = kept.rows.size();
    for (std::int64_t k = 0; k < counts[peer]; ++k, ++row)
      if (keeps(static_cast<int>(peer), k)) kept.rows.push_back(row);
    kept.counts.push_back(static_cast<std::int64_t>(kept.rows.size() - before));
  }
  return kept;
}

/// The given columns of the block (ascending), times `scale`.
SparseMatrix scaled_columns(const SparseMatrix& block, const std::vector<std::int64_t>& columns,
                            float scale) {
  const Csr& whole = block.csr();
  std::vector<Vertex> place(at(whole.cols), -1);
  for (std::size_t i = 0; i < columns.size(); ++i) place[at(columns[i])] = static_cast<Vertex>(i);
  RowBuilder kept(whole.rows, static_cast<std::int64_t>(columns.size()));
  for (std::int64_t r = 0; r < whole.rows; ++r) {
    const auto row = whole.row(r);
    const auto values = block.row_values(r);
    for (std::size_t e = 0; e < row.size(); ++e)
      if (const Vertex column = place[at(row[e])]; column >= 0) kept.add(column, scale * values[e]);
    kept.end_row();
  }
  return kept.finish();
}

std::shared_ptr<const std::vector<std::int64_t>> shared(std::vector<std::int64_t> counts) {
  return std::make_shared<const std::vector<std::int64_t>>(std::move(counts));
}

}  // namespace

HaloStructure sample_boundary(const HaloStructure& whole, const BoundarySampling& sampling,
                              int epoch, int index) {
  const Draw draw(sampling, epoch);
  Kept in = kept_of(*whole.receive, [&](int from, auto k) { return draw.keeps(from, index, k); });
  Kept out = kept_of(*whole.send, [&](int to, auto k) { return draw.keeps(index, to, k); });
  const auto kept_rows = [](const IndexList& all, const std::vector<std::int64_t>& rows) {
    std::vector<Vertex> numbers;
    for (const std::int64_t row : rows) numbers.push_back((*all.numbers())[at(row)]);
    return IndexList(std::make_shared<const std::vector<Vertex>>(std::move(numbers)));
  };

  HaloStructure part;
  part.own_block = whole.own_block;
  part.halo_block =
      scaled_columns(whole.halo_block, in.rows, static_cast<float>(1 / sampling.rate));
  part.receive = shared(std::move(in.counts));
  part.send = shared(std::move(out.counts));
  part.send_rows = kept_rows(whole.send_rows, out.rows);
  part.received_rows = kept_rows(whole.received_rows, in.rows);
  return part;
}

}  // namespace orrery
