// A small MPI on the virtual network: what the MPI functions of all ranks of a world share.
//
// It has the functions that the library under test calls (PMPI_*, by the types of MPICH's mpi.h),
// and no others. A rank's calls run on its fiber; messages are events of the scheduler.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "worlds/heap.hpp"
#include "worlds/scheduler.hpp"

namespace latecomer::worlds {

/// What the network is like. Times of one message: start-up, and a time for each byte; each is
/// drawn between once and `1 + jitter` times that.
struct Net {
  Time start_up = 20 * kMicrosecond;
  double byte = 1;  // ns
  double jitter = 0;
  std::size_t eager = 8192;  // longer messages wait for their receive
  int slow_one_in = 0;       // 0: none; such messages take 1000 times as long
};

struct Request {
  bool receive = false;
  Time done = kNever;
  int owner = 0;  // rank of the world
  // What is to be received or sent.
  int context = 0;
  int source = 0;  // within the communicator, or MPI_ANY_SOURCE
  int tag = 0;
  char* buffer = nullptr;
  std::size_t size = 0;
  MPI_Status status{};
  int error = MPI_SUCCESS;
};

struct Message {
  int source = 0;  // within the communicator
  int tag = 0;
  std::vector<char> data;  // of short messages
  const char* from = nullptr;
  std::size_t size = 0;
  Request* send = nullptr;  // is done once the message is matched; nullptr: was done at once
};

/// The message is from this source and has this tag; MPI_ANY_SOURCE and MPI_ANY_TAG: any.
bool fits(const Message& message, int source, int tag);

/// One call in which the ranks of a communicator take part together.
struct Meeting {
  std::string name;
  struct Part {
    std::vector<char> data;
    std::vector<std::int64_t> words;
    Time at = 0;
    Request* request = nullptr;  // of a call that does not block: it ends when all have come
  };
  std::vector<std::optional<Part>> parts;  // one for each rank of the communicator
  std::vector<int> waits;                  // ranks of the world
  std::vector<std::int64_t> result;        // of whoever came first to make it
  std::vector<char> bytes;
  int left = 0;
};

struct Comm {
  int handle = 0;
  std::vector<int> members;             // ranks of the world
  std::unordered_map<int, int> places;  // of members
  std::map<std::uint64_t, Meeting> meetings;
  std::map<std::uint64_t, Meeting> begun;  // of calls that do not block
  bool spoiled = false;  // a rank has asked wrongly: later calls of the ranks may not fit
  Comm(int number, std::vector<int> ranks);
  [[nodiscard]] int rank_of(int member) const;  // -1: none
};

/// What one rank knows of a communicator.
struct LocalComm {
  std::uint64_t calls = 0;
  std::uint64_t begun = 0;  // calls that do not block
  std::map<int, void*> attributes;
  MPI_Errhandler errhandler = MPI_ERRORS_ARE_FATAL;
  std::string name;
  bool alive = false;
};

struct Keyval {
  MPI_Comm_copy_attr_function* copy;
  MPI_Comm_delete_attr_function* remove;
  void* extra;
};

struct Type {
  std::int64_t size = 0;
  std::int64_t low = 0;
  std::int64_t extent = 0;
  MPI_Datatype old = MPI_DATATYPE_NULL;  // of a resized one
};

struct Op {
  MPI_User_function* function;
  bool commutes;
};

/// What a rank has of its own.
struct RankState {
  bool initialized = false;
  bool finalized = false;
  Time finalizing = 0;      // since when
  std::string host;         // its name
  std::string machine;      // what its kernel answers: ranks with the same share memory and clocks
  bool identified = false;  // it has asked for that
  std::map<int, LocalComm> comms;
  std::vector<std::unique_ptr<Request>> requests;
  std::map<int, std::vector<int>> groups;
  std::map<int, Type> types;
  std::map<int, Op> ops;
  std::map<int, Keyval> keyvals;
  // For each context: what has come and is not received, and who waits for what.
  std::map<int, std::deque<Message>> arrived;
  std::map<int, std::deque<Request*>> posted;
  int next = 1;  // of handles
  const char* last_call = "";
  bool polls = false;  // its last call found nothing
};

class MpiState;

/// The state of the world that runs, within an MPI function: memory that the function gets is no
/// rank's.
class Within {
 public:
  Within() = default;
  /// In the rank's call of `name`, which takes `span`: earlier ranks go first.
  Within(const char* name, Time span);
  MpiState* operator->() const;
  MpiState& operator*() const;

 private:
  HeapOwner nobody_{kNobody};
};

class MpiState {
 public:
  MpiState(Scheduler& scheduler, const Net& net, int ranks);

  Scheduler& scheduler;
  Net net;
  std::vector<RankState> ranks;
  std::map<int, std::shared_ptr<Comm>> comms;
  std::unique_ptr<Comm> end;        // of all ranks, for MPI_Finalize
  std::vector<std::string> faults;  // what the library did wrong
  int next_comm = 1;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;

  RankState& mine() { return ranks[scheduler.me()]; }
  /// The communicator of a handle; nullptr: none that this rank has.
  Comm* find(MPI_Comm handle);
  LocalComm& local(const Comm& comm) { return mine().comms[comm.handle]; }
  int me_in(const Comm& comm) const { return comm.rank_of(scheduler.me()); }

  Request* request(MPI_Request handle);
  MPI_Request add(std::unique_ptr<Request> request);
  void release(MPI_Request handle);
  void send(const Comm& comm, Message message, int to, Time begin);
  void deliver(int context, int to, Message message);
  void match(int to, Request& receive, Message& message);
  void wait(Request& request);

  /// Takes part in the communicator's next meeting. Comes back once all those ranks of it have
  /// come for which `needs` is true.
  Meeting& meet(Comm& comm, const std::string& name, Meeting::Part part,
                const std::function<bool(int)>& needs);
  /// To be called last by each rank that has met.
  void part(Comm& comm);

  Time cost(std::size_t size);
  std::shared_ptr<Comm> make_comm(std::vector<int> members);
  std::int64_t size_of(MPI_Datatype type);

 private:
  std::map<std::tuple<int, int, int>, Time> last_;  // the last arrival, for context, source, target
};

/// The state of a world while it exists.
void set_here(MpiState* state);

/// in op inout, as MPI_Reduce_local has it. MPI_ERR_OP: not known.
int combine(const void* in, void* inout, std::int64_t count, MPI_Datatype type, MPI_Op op);

}  // namespace latecomer::worlds
