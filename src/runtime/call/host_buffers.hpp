// The buffers of a call in memory that the processor can touch. Memory of a device is copied by the
// MPI library, in messages of this rank to itself: a library that takes such buffers can do that,
// and the program passed them.
#pragma once

#include <memory>
#include <vector>

#include "runtime/call/call.hpp"

namespace latecomer {

// Memory of accelerators that the program's CUDA, HIP or Level Zero runtime manages: the processor
// may not be able to touch it.

/// True if a buffer that counts on this rank is memory of a device.
[[nodiscard]] bool passes_device_memory(const Call& call, Rank ranks, Rank me);

/// Copies elements by a message of this rank to itself: MPI_COMM_SELF might hold messages of the
/// program's. Returns MPI's code. Threads may call it at once.
int send_to_self(const void* from, int count, MPI_Datatype type, void* to, int count_there,
                 MPI_Datatype type_there);

class HostBuffers {
 public:
  /// Copies what the call reads. `copies`: whether the call passes memory of a device; if not,
  /// nothing is done. The call's arguments are not wrong.
  HostBuffers(const Call& call, Rank ranks, Rank me, bool copies);

  /// The call with buffers of host memory only; as long as this object lives.
  [[nodiscard]] const Call& call() const { return call_; }
  /// MPI's code of copying so far.
  [[nodiscard]] int code() const { return code_; }
  /// Copies the result to where the program wants it. Returns MPI's code.
  int finish();
  /// MPI may still use the copies: they are never freed.
  void abandon();

 private:
  /// A buffer of the program, and its copy.
  struct Copy {
    void* device = nullptr;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    std::vector<Block> blocks;
    std::unique_ptr<char[]> memory;  // null: there is no copy
    char* host = nullptr;            // what stands for `device`
  };

  void add(Copy& copy, const void* buffer, MPI_Datatype type, std::vector<Block> blocks);
  void transfer(Copy& copy, bool to_host);

  Call call_;
  int code_ = MPI_SUCCESS;
  Copy sent_;
  Copy received_;
};

}  // namespace latecomer
