// Cores that more threads want than there are: an operating system gives them out in turns.
#pragma once

#include <cstdint>
#include <vector>

namespace orrery::sim {

/// Who works: what one thread does next, without a pause, it does in the same turn.
struct Thread {
  int id = -1;         ///< < 0: unlike all others
  bool brief = false;  ///< moves data: it has asked for short turns, and gets a core as it wakes up
};

/// A task that is done, and when it first had a core (< 0: that is not known).
struct Done {
  std::uint64_t token = 0;
  double began = -1;
};

/// Tasks on the cores of a machine, as the scheduler of Linux runs them: a thread keeps its core until its
/// task ends and no other follows at once, or until its turn is over and somebody waits. Those who wait
/// come in the order in which they began to. A brief thread takes a core from the last one that has any,
/// and whoever loses its core that way waits as if its turn were over: the scheduler goes on with the
/// thread that has had the least. A task with several threads takes as many cores as it gets, and
/// advances accordingly.
///
/// Source    docs/validation.md, "Cores in turns"; Documentation/scheduler/sched-eevdf.rst of Linux
/// Departs   one queue for all cores; a brief thread keeps its core until it is done
class Turns {
 public:
  /// `seconds`: of a turn, > 0.
  Turns(int cores, double seconds) : cores_(cores), turn_(seconds) {}

  /// A task of this many seconds, alone, with this many threads (at least one).
  void start(double now, double seconds, int threads, std::uint64_t token, Thread thread);
  /// Whoever has a core works so long; at most until_next().
  void work(double seconds);
  /// Seconds of work until a task or a turn ends; infinity if nobody works.
  double until_next() const;
  /// Ends the tasks that are done, which it appends, and the turns that are over.
  void end(double now, std::vector<Done>& done);

 private:
  struct Task {
    double left;       ///< seconds, with all its threads on cores
    double turn_left;  ///< < 0: the turn is over, and nobody waited
    std::uint64_t token;
    int threads;
    Thread thread;
    int held = 0;       ///< cores
    double began = -1;  ///< on a core; < 0: not yet
    double since = -1;  ///< has had so many cores without a break, if `held`
    bool lost = false;  ///< all of them just now, to a brief thread; it is none itself
    bool works() const { return held > 0; }
  };
  struct Ended {
    int thread;
    double turn_left;
  };
  bool all_work() const { return wanted_ <= cores_; }
  std::vector<Task>::iterator place_of(const Task& task, double now, bool continues);
  void give_out_cores(double now);
  void send_losers_to_the_end();

  int cores_;
  double turn_;
  int wanted_ = 0;           ///< cores, by all tasks
  std::vector<Task> tasks_;  ///< the order in which they get cores
  std::vector<Ended> ended_;
  double ended_at_ = -1;
};

}  // namespace orrery::sim
