// Writes the messages of a collective down; what waits for what follows from who holds what.
#pragma once

#include <string>
#include <vector>

#include "sim/collectives/expansion.hpp"

namespace orrery::sim {

/// Pieces of an operand: first, first + stride, ... modulo their number.
struct Pieces {
  int first = 0, count = 1, stride = 1;
};

/// What a piece that arrives does to the one that is there.
enum class Arrival { replaces, adds };

/// A list of messages in an order in which they could be sent one by one. A message waits for the
/// arrivals that its sender's pieces are made of; where it has more than a chunk, it passes them on
/// as they come in.
class MessageList {
 public:
  /// `chunk_bytes` 0: nothing is passed on before it has arrived.
  MessageList(int ranks, int pieces, double chunk_bytes = 0);
  void reserve(std::size_t messages) { out_.messages.reserve(messages); }

  /// Adds a message, which also waits for message `after`. Returns its number, or `after` if it
  /// would be empty: then there is none.
  int send(int from, int to, double bytes, Pieces pieces, Arrival arrival, int after = -1);

  Expansion take(std::string algorithm);

 private:
  /// One of the arrivals that a piece is made of.
  struct Part {
    int message, next;
  };
  /// What the last message of a rank waits for: the next one often waits for the same.
  struct Last {
    int parts = -1, first_wait = 0, waits = 0, streams = -1;
    bool streamed = false;
  };
  std::size_t place(int rank, int piece) const;
  void find_waits(Message& message, bool streamed, int after);
  void write_waits(Message& message, bool streamed, int after);
  void arrive(const Message& message, int number, Arrival arrival);

  Expansion out_;
  double chunk_bytes_;
  std::vector<int> held_;  // [rank][piece]: first of its parts, or -1 as it was at the beginning
  std::vector<Part> parts_;
  std::vector<Last> last_;
  std::vector<int> found_;
};

}  // namespace orrery::sim
