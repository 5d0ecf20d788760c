#include "core/strategy/store/edge_store.hpp"

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {

EdgeStore::EdgeStore(Runtime& rt, const EdgeRows& rows, int ahead, std::int64_t most)
    : rt_(rt),
      store_(rt,
             {StoreNumber::edges, rows.own(rt.rank()), rows.rows(rt.rank()), rows.width(),
              DType::f32, "store/features of edges"},
             {}, std::nullopt) {
  if (ahead > 0) fetched_.emplace(rt, store_, ahead, most);
}

void EdgeStore::fetch(const WantedRows& rows, bool counted) {
  ORRERY_ASSERT(fetched_.has_value());
  fetched_->fetch(rows, counted);
}

FeaturesOfEdges EdgeStore::bring(const WantedRows& rows) {
  FeaturesOfEdges made;
  made.rows = Buffer(rt_, {std::ssize(*rows.places), store_.width()}, DType::f32,
                     "graph/features of edges");
  made.places =
      fetched_ ? fetched_->take(made.rows.tensor()) : store_.pull(rows, made.rows.tensor());
  return made;
}

void EdgeStore::close() {
  if (fetched_) fetched_->close();
  store_.close();
}

}  // namespace orrery
