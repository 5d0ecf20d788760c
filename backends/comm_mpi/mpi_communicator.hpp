// The communication of one rank over MPI.
#pragma once

#include "backends/comm_mpi/engine.hpp"
#include "backends/comm_mpi/row_service.hpp"
#include "core/runtime/execute/communicator.hpp"

namespace orrery::mpi {

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(Engine& engine)
      : Communicator(engine.size()), engine_(engine), service_(engine) {}
  std::string_view name() const override { return "mpi"; }
  void abort(std::string_view why) noexcept override {
    engine_.freeze(why);
    close_stores();
  }
  void close_stores() noexcept override { service_.close_all(); }
  /// Files of memory if there are others to read them: the heap may have larger pages.
  Storage& server_storage() override;

 protected:
  void move(const Call& call, const RankMemory& memory) override;

 private:
  class Move;
  Engine& engine_;
  ServerStorage server_storage_;
  RowService service_;
};

}  // namespace orrery::mpi
