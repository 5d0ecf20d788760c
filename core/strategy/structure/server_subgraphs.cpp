#include "core/strategy/structure/server_subgraphs.hpp"

#include <algorithm>

#include "core/base/index.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/partition/neighbourhood.hpp"
#include "core/partition/partition_options.hpp"
#include "core/sample/induced.hpp"
#include "core/strategy/config/preloading_settings.hpp"

namespace orrery {
std::int64_t ServerSubgraph::rows(int rank, int d) const {
  const auto& own = members[orrery::at(rank)];
  const auto end = std::lower_bound(own.begin(), own.end(), part->at_distance(d));
  return end - own.begin();
}

ServerSubgraphs::ServerSubgraphs(const Problem& problem)
    : data_(problem.data),
      model_(problem.model),
      config_(problem.strategy),
      seed_(problem.train.seed),
      servers_(problem.partition.parts),
      parts_(servers_ * config_.batches) {
  if (!config_.sampling || config_.degrees == Degrees::original)
    lengths_ = row_lengths(*data_->graph, weighting_of(model_, data_->symmetric));
  cut_batches(problem.partition);
}

void ServerSubgraphs::cut_batches(const Partition& servers) {
  own_ = servers.members();
  if (batches() == 1) return;
  std::vector<std::vector<Vertex>> cut;
  for (const auto& own : own_) {
    const auto parts =
        split(neighbourhood(*data_->graph, *data_->graph, own, 0).graph, batches()).members();
    for (const auto& batch : parts) {
      cut.emplace_back();
      for (const Vertex i : batch) cut.back().push_back(own[orrery::at(i)]);
    }
  }
  own_ = std::move(cut);
}

Partition ServerSubgraphs::split(const Csr& graph, int parts) const {
  PartitionOptions options;
  options.method = config_.split == ServerSplit::metis ? "metis" : "random";
  options.seed = seed_;
  options.metis.constraints = {Constraint::vertices};  // ranks hold and exchange rows
  return partition_graph(graph, parts, options);
}

std::int64_t ServerSubgraphs::training_vertices(int batch) const {
  std::int64_t count = 0;
  for (int server = 0; server < servers_; ++server)
    for (const Vertex v : own_[orrery::at(at(server, batch))])
      if (data_->split[orrery::at(v)] == Split::train) ++count;
  return count;
}

std::shared_ptr<const ServerSubgraph> ServerSubgraphs::part(int server, int batch, int draw) const {
  return parts_.get(at(server, batch), draw,
                    [&] { return make(own_[orrery::at(at(server, batch))], draw); });
}

/// A server holds only vertices that an own vertex depends on: distances follow in-edges.
Neighbourhood ServerSubgraphs::held(const std::vector<Vertex>& own, int draw) const {
  const Csr& graph = *data_->graph;
  if (!config_.sampling)
    return neighbourhood(graph, graph, own, config_.depth.value_or(model_.layers));
  const ExpansionSampling& expansion = config_.sampling->expansion;
  if (expansion.hops == 0) return neighbourhood(graph, graph, own, 0);
  auto drawn = sample_expansion(graph, own, expansion, seed_, static_cast<std::uint64_t>(draw));
  if (!preloading_settings(config_).held_targets) return induced_neighbourhood(graph, own, drawn);
  drawn.insert(drawn.end(), own.begin(), own.end());
  std::sort(drawn.begin(), drawn.end());
  return neighbourhood(graph, graph, drawn, 0);
}

ServerSubgraphs::Shared ServerSubgraphs::make(const std::vector<Vertex>& own, int draw) const {
  auto made = std::make_shared<ServerSubgraph>();
  made->part = make_subgraph(data_, model_, held(own, draw), lengths_);
  const SparseMatrix& a = made->part->a;
  made->adjoint = a.symmetric ? std::shared_ptr<const SparseMatrix>(made->part, &a)
                              : std::make_shared<const SparseMatrix>(transpose(a));
  Partition ranks = split(a.csr(), config_.ranks_per_server);
  made->members = ranks.members();
  made->rank_of = std::move(ranks.owner);
  made->row_at_rank.resize(made->rank_of.size());
  for (const auto& members : made->members)
    for (std::size_t i = 0; i < members.size(); ++i)
      made->row_at_rank[orrery::at(members[i])] = static_cast<Vertex>(i);
  return made;
}

Partition ServerSubgraphs::ranks() const {
  Partition all{servers_ * config_.ranks_per_server, {}};
  all.owner.resize(orrery::at(data_->vertices()));
  for (int server = 0; server < servers_; ++server)
    for (int batch = 0; batch < batches(); ++batch) {
      const auto held = part(server, batch, 0);
      const auto& owned = own(server, batch);
      for (std::int64_t i = 0; i < held->part->within.front(); ++i) {
        const Vertex v = (*held->part->vertices)[orrery::at(i)];
        if (std::binary_search(owned.begin(), owned.end(), v))
          all.owner[orrery::at(v)] =
              server * config_.ranks_per_server + held->rank_of[orrery::at(i)];
      }
    }
  return all;
}

}  // namespace orrery
