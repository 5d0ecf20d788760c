// Writes down the messages of a collective; their dependencies follow from who holds which pieces.
#pragma once

#include <string>
#include <vector>

#include "sim/collectives/expansion.hpp"

namespace orrery::sim {

/// Pieces of an operand: first, first + stride, ... modulo their number.
struct Pieces {
  int first = 0, count = 1, stride = 1;
};

/// The effect of an arriving piece on the present one.
enum class Arrival { replaces, adds };

/// A list of messages in an order in which they could be sent one by one. A message waits for the
/// arrivals that its sender's pieces consist of. If it is longer than a chunk, it passes them on
/// while they arrive.
class MessageList {
 public:
  /// `chunk_bytes` 0: nothing is passed on before it has arrived.
  MessageList(int ranks, int pieces, double chunk_bytes = 0);
  void reserve(std::size_t messages) { out_.messages.reserve(messages); }

  /// Adds a message, which also waits for message `after`. Returns its number, or `after` if the
  /// message would be empty and is left out.
  int send(int from, int to, double bytes, Pieces pieces, Arrival arrival, int after = -1);

  Expansion take(std::string algorithm);

 private:
  /// One of the arrivals that a piece consists of.
  struct Part {
    int message, next;
  };
  /// The waits of the last message of a rank: the next one often has the same.
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
  // [rank][piece]: first of its parts, or -1: unchanged since the beginning
  std::vector<int> held_;
  std::vector<Part> parts_;
  std::vector<Last> last_;
  std::vector<int> found_;
};

}  // namespace orrery::sim
