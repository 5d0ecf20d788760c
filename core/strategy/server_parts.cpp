#include "core/strategy/server_parts.hpp"

#include <algorithm>

#include "core/partition/neighbourhood.hpp"
#include "core/sample/induced.hpp"

namespace orrery {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

std::int64_t ServerPart::rows(int rank, int d) const {
  const auto& own = members[index(rank)];
  const auto end = std::lower_bound(own.begin(), own.end(), part->at_distance(d));
  return end - own.begin();
}

ServerParts::ServerParts(const Problem& problem)
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

void ServerParts::cut_batches(const Partition& servers) {
  own_ = servers.members();
  if (batches() == 1) return;
  std::vector<std::vector<Vertex>> cut;
  for (const auto& own : own_) {
    const auto parts =
        split(neighbourhood(*data_->graph, *data_->graph, own, 0).graph, batches()).members();
    for (const auto& batch : parts) {
      cut.emplace_back();
      for (const Vertex i : batch) cut.back().push_back(own[index(i)]);
    }
  }
  own_ = std::move(cut);
}

Partition ServerParts::split(const Csr& graph, int parts) const {
  PartitionOptions options;
  options.method = config_.split == ServerSplit::metis ? "metis" : "random";
  options.seed = seed_;
  options.metis.constraints = {Constraint::vertices};  // rows are what ranks hold and exchange
  return partition_graph(graph, parts, options);
}

std::int64_t ServerParts::training_vertices(int batch) const {
  std::int64_t count = 0;
  for (int server = 0; server < servers_; ++server)
    for (const Vertex v : own_[index(at(server, batch))])
      if (data_->split[index(v)] == Split::train) ++count;
  return count;
}

std::shared_ptr<const ServerPart> ServerParts::part(int server, int batch, int draw) const {
  return parts_.get(at(server, batch), draw,
                    [&] { return make(own_[index(at(server, batch))], draw); });
}

/// What no own vertex depends on is not held: distances follow in-edges alone.
Neighbourhood ServerParts::held(const std::vector<Vertex>& own, int draw) const {
  const Csr& graph = *data_->graph;
  if (!config_.sampling)
    return neighbourhood(graph, graph, own, config_.depth.value_or(model_.layers));
  const ExpansionSampling& expansion = config_.sampling->expansion;
  if (expansion.hops == 0) return neighbourhood(graph, graph, own, 0);
  return induced_neighbourhood(
      graph, own, sample_expansion(graph, own, expansion, seed_, static_cast<std::uint64_t>(draw)));
}

ServerParts::Shared ServerParts::make(const std::vector<Vertex>& own, int draw) const {
  auto made = std::make_shared<ServerPart>();
  made->part = make_local_part(data_, model_, held(own, draw), lengths_);
  const Adjacency& a = made->part->a;
  made->adjoint = a.symmetric ? std::shared_ptr<const Adjacency>(made->part, &a)
                              : std::make_shared<const Adjacency>(transpose(a));
  Partition ranks = split(*a.pattern, config_.ranks_per_server);
  made->members = ranks.members();
  made->rank_of = std::move(ranks.owner);
  made->row_at_rank.resize(made->rank_of.size());
  for (const auto& members : made->members)
    for (std::size_t i = 0; i < members.size(); ++i)
      made->row_at_rank[index(members[i])] = static_cast<Vertex>(i);
  return made;
}

Partition ServerParts::ranks() const {
  Partition all{servers_ * config_.ranks_per_server, {}};
  all.owner.resize(index(data_->vertices()));
  for (int server = 0; server < servers_; ++server)
    for (int batch = 0; batch < batches(); ++batch) {
      const auto held = part(server, batch, 0);
      for (std::int64_t i = 0; i < held->part->within.front(); ++i)
        all.owner[index((*held->part->vertices)[index(i)])] =
            server * config_.ranks_per_server + held->rank_of[index(i)];
    }
  return all;
}

}  // namespace orrery
