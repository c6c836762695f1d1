// One rank of a world: its program, and the checks of what each call returns.
#pragma once

#include <latecomer/latecomer_mpi.h>

#include <exception>

#include "worlds/calls.hpp"
#include "worlds/findings.hpp"

namespace latecomer::worlds {

class Rank {
 public:
  Rank(const World& world, int rank, Scheduler& scheduler, Findings& findings)
      : world_(world), scheduler_(scheduler), findings_(findings), calls_(calls_of(world, rank)) {}

  /// From MPI_Init to MPI_Finalize.
  void live();

 private:
  struct Arguments {
    int count;
    MPI_Datatype type;
    MPI_Op op;
    int root;
    MPI_Comm comm;
  };
  struct Buffers {
    std::vector<char> mine, got;
    bool none = false;  // NULL is passed instead
  };
  /// One rank's call of a step on a communicator.
  struct Turn {
    const Step* step;
    int number;
    MPI_Comm comm;
    int me;  // in the communicator
    int size;
  };
  /// A persistent call, and what it was started for last.
  struct Persistent {
    latecomer_request handle = LATECOMER_REQUEST_NULL;
    Turn turn{};
    Buffers buffers;
    bool started = false;
    bool refused = false;  // MPI must refuse it
    bool wrong = false;    // no other rank makes this call
  };

  [[nodiscard]] bool breaks(const char* fault) const {
    return scheduler_.me() == 0 && world_.broken == fault;
  }
  void break_at_end();
  void prepare(MPI_Comm comm);
  void begin(int number);
  void take(const Step& step, int number);
  void compute(const Step& step, MPI_Comm comm);
  void split(const Step& step, int number, MPI_Comm comm);
  void play(const Step& step, int number, MPI_Comm& comm);
  [[nodiscard]] Arguments arguments_of(const Turn& turn) const;
  void fill(const Turn& turn, Buffers& buffers);
  /// The rank asks wrongly. true: and then rightly.
  bool ask_wrongly(const Turn& turn, const Arguments& right, Buffers& buffers, MPI_Comm& comm);
  static void spoil(MPI_Comm comm);
  void note_error(MPI_Comm comm, int code);
  int call(const Turn& turn, const Arguments& arguments, Buffers& buffers);
  /// Checks the code and the data of a call.
  void finish(const Turn& turn, int code, Buffers& buffers);
  void check_counts(const Called& called);
  void not_refused(int number);

  // Persistent calls (requests.cpp).
  /// Makes the request, unless it is there, and starts it.
  void start(const Turn& turn, Persistent& request, const Arguments& asked);
  /// Starts a call with wrong arguments of this rank's own. `freed`: frees the communicator before.
  void start_wrongly(const Turn& turn, const Arguments& asked, Buffers buffers, bool is_refused,
                     MPI_Comm* freed);
  /// Waits for all requests of the communicator in an order of this rank's own.
  void wait_for_all(const Step& step, int number, MPI_Comm comm);
  void wait_for_rest();
  /// true: the call ended well, or was refused as it must be.
  bool wait_for(Persistent& request);
  /// Requests whose communicator is freed can only be freed, too.
  void drop_requests(MPI_Comm freed);
  void announce(const Turn& turn, const Arguments& asked, Persistent& request);
  void free_request(Persistent& request);
  void expect(int code, int right, int number, const char* function);

  /// Runs code of the library under test.
  template <class Code>
  int ours(const Code& code);
  /// The same of a collective, which a trace must have.
  template <class Code>
  int traced(int step, const char* name, MPI_Comm comm, const Code& code);

  const World& world_;
  Scheduler& scheduler_;
  Findings& findings_;
  Calls calls_;
  std::vector<MPI_Comm> comms_;
  std::map<int, Persistent> requests_;  // by Step::request; from -1 down: that MPI must refuse
  MPI_Op compose_ = MPI_OP_NULL;
};

template <class Code>
int Rank::ours(const Code& code) try {
  const HeapOwner owner(scheduler_.me());
  return code();
} catch (const std::exception& error) {
  findings_.fault("rank " + std::to_string(scheduler_.me()) +
                  ": an exception leaves the library: " + error.what());
  return MPI_ERR_OTHER;
}

template <class Code>
int Rank::traced(int step, const char* name, MPI_Comm comm, const Code& code) {
  if (world_.traces.empty()) return ours(code);
  int size = 0;
  PMPI_Comm_size(comm, &size);
  const std::size_t at = findings_.calls.size();
  findings_.calls.push_back({scheduler_.me(), step, name, comm, size, scheduler_.now()});
  const int result = ours(code);
  findings_.calls[at].exit = scheduler_.now();
  findings_.calls[at].code = result;
  return result;
}

}  // namespace latecomer::worlds
