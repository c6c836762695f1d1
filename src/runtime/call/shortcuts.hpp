// Shortcuts for calls that need no decision: the same arguments came before, and the MPI library
// executes them.
#pragma once

#include <array>

#include "choose/chooser.hpp"
#include "runtime/call/call.hpp"
#include "runtime/report/statistics.hpp"

namespace latecomer {

/// The shortcut of calls with certain arguments. It counts them itself, so that a call touches two
/// lines of the cache: the program's computation may have taken all others.
struct alignas(64) Shortcut {
  Collective collective = Collective::allreduce;
  std::uint8_t pointers = 0;  // which of the buffers are null, in place, equal
  Rank root = 0;
  Count sendcount = -1;
  Count recvcount = -1;
  MPI_Datatype sendtype = MPI_DATATYPE_NULL;
  MPI_Datatype recvtype = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  const void* site = nullptr;

  CallClass* call_class = nullptr;  // null: always native
  std::uint64_t version = 0;        // of the chooser's classes
  CallCounter counter = nullptr;    // of such calls
  Statistics::Records records;

  // Calls since settle().
  std::uint64_t calls = 0;
  std::uint64_t last_call = 0;  // its number on the communicator
  Seconds inside = 0;
  Seconds last_inside = 0;

  /// Calls that are not timed are taken to be as long as the last one that was.
  [[nodiscard]] bool next_is_timed() const {
    if (call_class != nullptr) return call_class->next_is_timed();
    return last_inside >= CallClass::kBrief || calls % CallClass::kTimed == 0;
  }
  void count(std::uint64_t number) {
    ++calls;
    last_call = number;
    inside += last_inside;
  }
  /// Adds the counted calls to the records.
  void settle() {
    if (calls == 0) return;
    records.add(counter, calls, inside, last_call);
    calls = 0;
    inside = 0;
  }
  [[nodiscard]] bool fits(const Shortcut& other) const {
    return sendcount == other.sendcount && site == other.site && collective == other.collective &&
           recvcount == other.recvcount && pointers == other.pointers && root == other.root &&
           sendtype == other.sendtype && recvtype == other.recvtype && op == other.op;
  }
};

class Shortcuts {
 public:
  /// Null if the call must be looked at.
  [[nodiscard]] Shortcut* find(const Call& call, const Chooser& chooser) {
    if (call.parts_differ()) return nullptr;
    Shortcut& at = place(call);
    if (at.counter == nullptr || !at.fits(key_of(call))) return nullptr;
    if (at.call_class == nullptr) return &at;
    const bool due =
        at.version != chooser.version() || at.call_class->calls + 1 >= at.call_class->next_event;
    return due ? nullptr : &at;
  }
  void add(const Call& call, CallCounter counter, CallClass* call_class, const Chooser& chooser,
           const Statistics::Records& records, Seconds inside) {
    Shortcut made = key_of(call);
    made.counter = counter;
    made.call_class = call_class;
    made.version = chooser.version();
    made.records = records;
    made.last_inside = inside;
    Shortcut& at = place(call);
    at.settle();
    at = made;
  }
  void settle() {
    for (Shortcut& each : all_) each.settle();
  }
  void clear() {
    settle();
    all_.fill({});
  }

 private:
  static Shortcut key_of(const Call& call) {
    const auto bit = [](bool set, int place) {
      return static_cast<std::uint8_t>(static_cast<unsigned>(set) << place);
    };
    Shortcut key;
    key.collective = call.collective;
    key.pointers = static_cast<std::uint8_t>(
        bit(call.sendbuf == nullptr, 0) | bit(call.recvbuf == nullptr, 1) |
        bit(call.sendbuf == MPI_IN_PLACE, 2) | bit(call.recvbuf == MPI_IN_PLACE, 3) |
        bit(call.sendbuf == call.recvbuf, 4));
    key.root = call.root;
    key.sendcount = call.sendcount;
    key.recvcount = call.recvcount;
    key.sendtype = call.sendtype;
    key.recvtype = call.recvtype;
    key.op = call.op;
    key.site = call.site;
    return key;
  }
  Shortcut& place(const Call& call) {
    const auto count = static_cast<std::uint64_t>(call.sendcount + 31 * call.recvcount);
    const std::uint64_t mixed = (count * 0x9e3779b97f4a7c15U) ^
                                (static_cast<std::uint64_t>(call.root) * 0xff51afd7ed558ccdU) ^
                                (static_cast<std::uint64_t>(call.collective) << 60);
    return all_[(mixed ^ mixed >> 32) % all_.size()];
  }

  std::array<Shortcut, 32> all_{};
};

}  // namespace latecomer
