#include "tests/sim/collectives/follow_data.hpp"

#include <fmt/core.h>

#include <bitset>
#include <cmath>
#include <optional>
#include <stdexcept>

namespace orrery::sim::test {
namespace {

using Contributions = std::bitset<128>;

Contributions of(int rank) { return Contributions(1) << static_cast<std::size_t>(rank); }
using K = CollectiveKind;

struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class... T>
void require(bool holds, fmt::format_string<T...> text, T&&... values) {
  if (!holds) throw Wrong(fmt::format(text, std::forward<T>(values)...));
}

class Follower {
 public:
  Follower(const Expansion& e, const CollectiveShape& shape)
      : e_(e), shape_(shape), p_(shape.ranks), arrivals_(at(p_, 0)), sends_(at(p_, 0)) {}

  void check() {
    find_ancestors();
    for (std::size_t m = 0; m < e_.messages.size(); ++m)
      for (const int piece : pieces(m)) {
        arrivals_[at(e_.messages[m].to, piece)].push_back(m);
        sends_[at(e_.messages[m].from, piece)].push_back(m);
      }
    find_owners();
    check_bytes();
    for (std::size_t m = 0; m < e_.messages.size(); ++m) carry(m);
    check_end();
  }

 private:
  std::size_t at(int rank, int piece) const {
    return static_cast<std::size_t>(rank * e_.pieces + piece);
  }
  bool before(std::size_t a, std::size_t b) const { return ancestors_[b][a / 64] >> a % 64 & 1; }

  std::vector<int> pieces(std::size_t m) const {
    const Message& message = e_.messages[m];
    std::vector<int> list;
    for (int k = 0; k < message.pieces; ++k)
      list.push_back((message.first_piece + k * message.stride) % e_.pieces);
    return list;
  }

  void find_ancestors() {
    const std::size_t count = e_.messages.size();
    ancestors_.assign(count, std::vector<std::uint64_t>(count / 64 + 1));
    for (std::size_t m = 0; m < count; ++m) {
      const Message& message = e_.messages[m];
      const auto depend = [&](int on, bool passed_on) {
        require(on >= 0 && static_cast<std::size_t>(on) < m, "{} depends on later {}", m, on);
        const auto a = static_cast<std::size_t>(on);
        if (passed_on)
          require(e_.messages[a].to == message.from && message.chunk > 0, "{} cannot pass on {}", m,
                  on);
        ancestors_[m][a / 64] |= 1ULL << a % 64;
        for (std::size_t word = 0; word <= a / 64; ++word)
          ancestors_[m][word] |= ancestors_[a][word];
      };
      require(message.from != message.to && message.bytes > 0, "{} is no message", m);
      if (message.streams >= 0) depend(message.streams, true);
      require(message.streamed_waits <= message.waits, "{} streams more than it waits for", m);
      for (int k = 0; k < message.waits; ++k)
        depend(e_.waits[static_cast<std::size_t>(message.first_wait + k)],
               k >= message.waits - message.streamed_waits);
    }
  }

  /// For all-gathers and reduce-scatters: the rank that never gets, or never sends, a piece.
  void find_owners() {
    owners_.assign(static_cast<std::size_t>(e_.pieces), -1);
    if (shape_.kind != K::all_gather && shape_.kind != K::reduce_scatter) return;
    const auto& lists = shape_.kind == K::all_gather ? arrivals_ : sends_;
    for (int piece = 0; piece < e_.pieces; ++piece) {
      int owner = -1, owners = 0;
      bool empty = false;  // it may be the slice of a rank that has none, so that it does not move
      for (int r = 0; r < p_; ++r)
        if (lists[at(r, piece)].empty()) {
          owner = r;
          ++owners;
          empty = empty || part(r) == 0;
        }
      if (owners > 1 && empty) continue;
      require(owners == 1, "piece {} is of {} ranks", piece, owners);
      owners_[static_cast<std::size_t>(piece)] = owner;
    }
  }

  double part(int i) const {
    return shape_.parts ? (*shape_.parts)[static_cast<std::size_t>(i)] : shape_.bytes;
  }

  double bytes_of(int piece) const {
    if (shape_.kind == K::all_to_all) return part(piece);
    if (shape_.kind == K::all_gather || shape_.kind == K::reduce_scatter) {
      const int owner = owners_[static_cast<std::size_t>(piece)];
      return owner < 0 ? 0 : part(owner) * p_ / e_.pieces;
    }
    return shape_.bytes / e_.pieces;
  }

  void check_bytes() const {
    for (std::size_t m = 0; m < e_.messages.size(); ++m) {
      double bytes = 0;
      for (const int piece : pieces(m)) bytes += bytes_of(piece);
      const Message& message = e_.messages[m];
      require(std::abs(bytes - message.bytes) <= 1e-9 * bytes, "{} has {} bytes, its pieces {}", m,
              message.bytes, bytes);
      require(message.reduced == 0 || message.reduced == message.bytes, "{} adds a part", m);
    }
    if (shape_.kind != K::all_gather && shape_.kind != K::reduce_scatter) return;
    std::vector<int> pieces_of(static_cast<std::size_t>(p_));
    for (const int owner : owners_)
      if (owner >= 0) ++pieces_of[static_cast<std::size_t>(owner)];
    for (int r = 0; r < p_; ++r)
      require(pieces_of[static_cast<std::size_t>(r)] == (part(r) > 0 ? e_.pieces / p_ : 0),
              "rank {} has {} pieces", r, pieces_of[static_cast<std::size_t>(r)]);
  }

  Contributions initial(int rank, int piece) const {
    Contributions own;
    const auto r = static_cast<std::size_t>(rank);
    switch (shape_.kind) {
      case K::broadcast:
        own[r] = rank == shape_.root;
        break;
      case K::all_gather:
        own[r] = rank == owners_[static_cast<std::size_t>(piece)];
        break;
      case K::all_to_all:
        own[r] = rank == piece / p_;
        break;
      default:
        own[r] = true;
    }
    return own;
  }

  /// What the rank holds when the arrivals before message `until` are there; of all if absent.
  Contributions held(int rank, int piece, std::optional<std::size_t> until) const {
    Contributions value = initial(rank, piece);
    std::vector<std::size_t> done;
    for (const std::size_t a : arrivals_[at(rank, piece)]) {
      if (until && !before(a, *until)) continue;
      const Contributions came = carried_.at(a).at(place_in(a, piece));
      const bool adds = e_.messages[a].reduced > 0;
      for (const std::size_t b : done)
        require(before(b, a) || (adds && e_.messages[b].reduced > 0), "{} and {} race", a, b);
      if (adds)
        require((value & came).none(), "{} counts twice", a);
      else
        require((value & ~came).none(), "{} overwrites what it lacks", a);
      value = adds ? value | came : came;
      done.push_back(a);
    }
    return value;
  }

  std::size_t place_in(std::size_t m, int piece) const {
    const auto list = pieces(m);
    for (std::size_t k = 0; k < list.size(); ++k)
      if (list[k] == piece) return k;
    throw std::logic_error("not in this message");
  }

  void carry(std::size_t m) {
    const int from = e_.messages[m].from;
    carried_.emplace_back();
    for (const int piece : pieces(m)) {
      carried_.back().emplace_back();
      if (bytes_of(piece) == 0) continue;
      for (const std::size_t a : arrivals_[at(from, piece)])
        require(before(a, m) || before(m, a), "{} and {} race at rank {}", m, a, from);
      carried_.back().back() = held(from, piece, m);
      require(carried_.back().back().any(), "{} has nothing to send", m);
    }
  }

  void check_end() const {
    Contributions all;
    for (int r = 0; r < p_; ++r) all[static_cast<std::size_t>(r)] = true;
    for (int r = 0; r < p_; ++r)
      for (int piece = 0; piece < e_.pieces; ++piece) {
        if (bytes_of(piece) == 0) continue;
        const Contributions value = held(r, piece, {});
        const int owner = owners_[static_cast<std::size_t>(piece)];
        bool right = true;
        if (shape_.kind == K::broadcast) right = value == of(shape_.root);
        if (shape_.kind == K::all_gather) right = value == of(owner);
        if (shape_.kind == K::reduce && r == shape_.root) right = value == all;
        if (shape_.kind == K::reduce_scatter && r == owner) right = value == all;
        if (shape_.kind == K::all_reduce) right = value == all;
        if (shape_.kind == K::all_to_all && piece % p_ == r && piece / p_ != r)
          right = value == of(piece / p_);
        require(right, "rank {} ends with {} of piece {}", r, value.to_string(), piece);
      }
  }

  const Expansion& e_;
  const CollectiveShape& shape_;
  int p_;
  std::vector<std::vector<std::uint64_t>> ancestors_;  // of each message, a bit for each
  // by rank and piece
  std::vector<std::vector<std::size_t>> arrivals_, sends_;
  std::vector<int> owners_;                          // by piece
  std::vector<std::vector<Contributions>> carried_;  // by message and its pieces
};

}  // namespace

std::string wrong_data(const Expansion& e, const CollectiveShape& shape) {
  try {
    Follower(e, shape).check();
  } catch (const Wrong& wrong) {
    return wrong.what();
  }
  return {};
}

}  // namespace orrery::sim::test
