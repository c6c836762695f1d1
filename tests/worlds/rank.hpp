// One rank of a world: its program, and the checks of what each call returns.
#pragma once

#include "worlds/findings.hpp"

namespace latecomer::worlds {

class Rank {
 public:
  Rank(const World& world, Scheduler& scheduler, Findings& findings)
      : world_(world), scheduler_(scheduler), findings_(findings) {}

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

  [[nodiscard]] bool breaks(const char* fault) const {
    return scheduler_.me() == 0 && world_.broken == fault;
  }
  void break_at_end();
  void prepare(MPI_Comm comm);
  void begin(int number);
  void take(const Step& step, int number);
  void split(const Step& step, MPI_Comm comm);
  void play(const Step& step, int number, MPI_Comm& comm);
  /// The rank asks wrongly. true: and then rightly.
  bool ask_wrongly(const Step& step, const Arguments& right, Buffers& buffers, int number,
                   MPI_Comm& comm);
  static void spoil(MPI_Comm comm);
  void note_error(MPI_Comm comm, int code);
  int call(const Step& step, const Arguments& arguments, Buffers& buffers);
  void finish(const Step& step, const Called& called, int me, int size, int code, Buffers& buffers);
  /// Runs code of the library under test.
  template <class Code>
  int ours(const Code& code);

  const World& world_;
  Scheduler& scheduler_;
  Findings& findings_;
  std::vector<MPI_Comm> comms_;
  MPI_Op compose_ = MPI_OP_NULL;
};

}  // namespace latecomer::worlds
