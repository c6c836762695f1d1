// Calls that need no decision: the same arguments came before, and the MPI library carries them
// out. Looking one up costs a few nanoseconds.
#pragma once

#include <array>

#include "choose/chooser.hpp"
#include "runtime/request.hpp"
#include "runtime/statistics/statistics.hpp"

namespace latecomer {

/// What is known of calls with certain arguments.
struct Shortcut {
  Collective collective = Collective::allreduce;
  std::uint8_t pointers = 0;  // which of the buffers are null, in place, equal
  Rank root = 0;
  Count sendcount = -1;
  Count recvcount = -1;
  MPI_Datatype sendtype = MPI_DATATYPE_NULL;
  MPI_Datatype recvtype = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  const void* site = nullptr;

  CallClass* of = nullptr;    // null: the MPI library's for good
  std::uint64_t version = 0;  // of the chooser's classes
  KeyRecord* key = nullptr;
  latecomer_site_stats* at = nullptr;

  /// A call ended.
  void count(bool well, Seconds inside) const {
    ++key->calls.native;
    key->times.inside += inside;
    if (well) key->count("native", {});
    ++at->calls.native;
    at->times.inside += inside;
  }
  [[nodiscard]] bool fits(const Shortcut& other) const {
    return sendcount == other.sendcount && site == other.site && collective == other.collective &&
           recvcount == other.recvcount && pointers == other.pointers && root == other.root &&
           sendtype == other.sendtype && recvtype == other.recvtype && op == other.op;
  }
};

class Shortcuts {
 public:
  /// Null where the call needs a look.
  [[nodiscard]] Shortcut* find(const Call& call, const Chooser& chooser) {
    if (call.recvcounts != nullptr) return nullptr;
    Shortcut& at = place(call);
    if (at.key == nullptr || !at.fits(key_of(call))) return nullptr;
    if (at.of == nullptr) return &at;
    const bool due = at.version != chooser.version() || at.of->calls + 1 >= at.of->next_event;
    return due ? nullptr : &at;
  }
  void add(const Call& call, CallClass* of, const Chooser& chooser, KeyRecord* key,
           latecomer_site_stats* at) {
    if (call.recvcounts != nullptr) return;
    Shortcut made = key_of(call);
    made.of = of;
    made.version = chooser.version();
    made.key = key;
    made.at = at;
    place(call) = made;
  }
  void clear() { all_.fill({}); }

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
