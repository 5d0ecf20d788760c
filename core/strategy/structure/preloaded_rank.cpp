#include "core/strategy/structure/preloaded_rank.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/index.hpp"

namespace orrery {
namespace {

constexpr std::int32_t kNobody = -1;

IndexList list(std::vector<Vertex> numbers) {
  return IndexList(std::make_shared<const std::vector<Vertex>>(std::move(numbers)));
}

/// The ranks of a server at one distance: which rank holds the vertices at this distance.
struct Level {
  std::vector<std::int32_t> holder;  ///< rank of each vertex; kNobody beyond the distance
  std::vector<std::int64_t> rows;    ///< of each rank
};

Level level_of(const ServerSubgraph& server, int distance) {
  Level level{server.rank_of, {}};
  std::fill(level.holder.begin() + server.part->at_distance(distance), level.holder.end(), kNobody);
  for (int rank = 0; rank < static_cast<int>(server.members.size()); ++rank)
    level.rows.push_back(server.rows(rank, distance));
  return level;
}

/// Rows at `distance`, whose columns are one step further.
PreloadedRank::Layer layer_within(const ServerSubgraph& server, int index, int distance) {
  const Level out = level_of(server, distance), in = level_of(server, distance + 1);
  const auto first = [&](const Level& level) {
    return std::span(server.members[at(index)]).first(at(level.rows[at(index)]));
  };
  const SparseMatrix& a = server.part->a;
  const auto tiles = cut_rows(a, first(out), in.holder, server.row_at_rank, in.rows);
  const auto adjoint =
      cut_rows(*server.adjoint, first(in), out.holder, server.row_at_rank, out.rows);
  return {make_halo_structure(tiles, adjoint, index), true, a.symmetric && out.rows == in.rows};
}

/// Everything that crosses servers at the first layer within them.
class Spreading {
 public:
  Spreading(const ServerSubgraphs& servers, const StrategyConfig& config)
      : servers_(servers),
        ranks_(config.ranks_per_server),
        own_ranks_(servers.ranks()),
        row_at_owner_(own_ranks_.owner.size()) {
    for (const auto& own : own_ranks_.members())
      for (std::size_t i = 0; i < own.size(); ++i)
        row_at_owner_[at(own[i])] = static_cast<Vertex>(i);
  }

  Spread of(int rank, int layer) const {
    Spread spread;
    spread.layer = layer;
    const int world = servers_.servers() * ranks_;
    std::vector<std::int64_t> send(at(world), 0), receive(at(world), 0);
    std::vector<Vertex> send_rows, row_received, received_row;
    for (int other = 0; other < world; ++other) {
      for (const Row& row : other_rows(other))
        if (row.owner == rank) {
          ++send[at(other)];
          send_rows.push_back(row_at_owner_[at(row.vertex)]);
        }
      for (const Row& row : other_rows(rank))
        if (row.owner == other) {
          ++receive[at(other)];
          row_received.push_back(row.place);
        }
    }
    received_row.resize(row_received.size());
    for (std::size_t i = 0; i < row_received.size(); ++i)
      received_row[at(row_received[i])] = static_cast<Vertex>(i);
    spread.send = std::make_shared<const std::vector<std::int64_t>>(std::move(send));
    spread.receive = std::make_shared<const std::vector<std::int64_t>>(std::move(receive));
    spread.send_rows = list(std::move(send_rows));
    spread.received_row = list(std::move(received_row));
    spread.row_received = list(std::move(row_received));
    return spread;
  }

 private:
  /// A row of another server's vertex that a rank holds.
  struct Row {
    Vertex vertex;
    std::int32_t owner;
    Vertex place;  ///< after the own rows
  };

  std::vector<Row> other_rows(int rank) const {
    const auto server = servers_.part(rank / ranks_, 0, 0);
    const auto& members = server->members[at(rank % ranks_)];
    const auto own = server->rows(rank % ranks_, 0);
    std::vector<Row> rows;
    for (std::size_t i = at(own); i < members.size(); ++i) {
      const Vertex v = (*server->part->vertices)[at(members[i])];
      rows.push_back({v, own_ranks_.owner[at(v)], static_cast<Vertex>(i - at(own))});
    }
    return rows;
  }

  const ServerSubgraphs& servers_;
  int ranks_;
  Partition own_ranks_;
  std::vector<Vertex> row_at_owner_;
};

}  // namespace

Spread magnified(const Spread& spread, std::int64_t times) {
  const auto rows = [times](const IndexList& list) {
    return IndexList::counted(times * list.size());
  };
  return {spread.layer,           magnified(spread.send, times), magnified(spread.receive, times),
          rows(spread.send_rows), rows(spread.received_row),     rows(spread.row_received)};
}

PreloadedRank magnified(const PreloadedRank& rank, std::int64_t times) {
  PreloadedRank made = rank;
  made.vertices = IndexList::counted(times * rank.vertices.size());
  made.computed = IndexList::counted(times * rank.computed.size());
  made.data = rank.data.magnified(rank.rows.back(), times);
  for (std::int64_t& rows : made.rows) rows *= times;
  for (PreloadedRank::Layer& layer : made.products) layer.part = magnified(layer.part, times);
  if (rank.spread) made.spread = magnified(*rank.spread, times);
  return made;
}

std::shared_ptr<const PreloadedRank> make_preloaded_rank(const ServerSubgraphs& servers, int rank,
                                                         int batch, int draw, int layers,
                                                         const StrategyConfig& config,
                                                         const PartitionedGraph* below) {
  const int ranks = config.ranks_per_server, index = rank % ranks;
  const int depth = std::min(config.depth.value_or(layers), layers);
  const auto server = servers.part(rank / ranks, batch, draw);
  const int within = layers - depth;  // the layers after this level are within the server
  auto made = std::make_shared<PreloadedRank>();

  std::vector<Vertex> vertices;
  for (const Vertex i : server->members[at(index)])
    vertices.push_back((*server->part->vertices)[at(i)]);
  for (int level = 0; level <= layers; ++level)
    made->rows.push_back(server->rows(index, level > within || within == 0 ? layers - level : 0));
  made->computed = list({vertices.begin(), vertices.begin() + made->rows.front()});
  made->vertices = list(std::move(vertices));
  made->data = VertexData(servers.data(), made->computed.numbers());
  if (within > 0) {
    made->products.push_back({make_halo_structure(*below, rank), false, below->symmetric()});
    made->product_of_layer.assign(at(within), 0);
    if (depth > 0) made->spread = Spreading(servers, config).of(rank, within + 1);
  }
  const auto held = [&](int d) { return server->part->at_distance(d); };
  for (int layer = within + 1; layer <= layers; ++layer) {
    const int d = layers - layer;
    const bool as_before =
        layer > within + 1 && held(d) == held(d + 1) && held(d + 1) == held(d + 2);
    if (!as_before) made->products.push_back(layer_within(*server, index, d));
    made->product_of_layer.push_back(made->products.size() - 1);
  }
  const std::int64_t times = servers.data()->magnify;
  return times == 1 ? made : std::make_shared<const PreloadedRank>(magnified(*made, times));
}

}  // namespace orrery
