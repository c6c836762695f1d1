// Windows and files in the trace: each is a communicator there, with the ranks of the one that it
// was made of, since ranks carry out its collectives in an order of their own. Epochs of
// MPI_Win_post and MPI_Win_start are messages: each origin waits for the posts of its targets, and
// each target for its origins to complete.
#pragma once

#include <cstdint>

#include "dropin/message_records.hpp"
#include "dropin/unseen.hpp"
#include "dropin/wrapped.hpp"
#include "trace/records.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer::objects {

/// A window or a file.
struct Object {
  std::uint8_t kind;  // OtherCalls::windows or files
  std::uint64_t handle;

  friend auto operator<=>(const Object&, const Object&) = default;
};
[[nodiscard]] inline Object window(MPI_Win win) {
  return {trace::OtherCalls::windows, messages::key_of(win)};
}
[[nodiscard]] inline Object file(MPI_File made) {
  return {trace::OtherCalls::files, messages::key_of(made)};
}

/// Runs a collective on an object. `name`: as reports have it; `bytes`: 0 if ranks need not wait
/// for each other, else -1.
int together(const Object& object, const char* name, std::int64_t bytes, const void* site,
             int (*native)(const void*), const void* data);
template <class Native>
int together(const Object& object, const char* name, std::int64_t bytes, const void* site,
             const Native& native) {
  return together(object, name, bytes, site, wrapped::run<Native>, &native);
}

/// After a collective that may have made an object of this communicator; its null handle: it has
/// not.
int made(MPI_Comm comm, const Object& object, int code);
/// One that ends it.
int end(const Object& object, const char* name, const void* site, int (*native)(const void*),
        const void* data);
template <class Native>
int end(const Object& object, const char* name, const void* site, const Native& native) {
  return end(object, name, site, wrapped::run<Native>, &native);
}

int win_post(decltype(&PMPI_Win_post) native, MPI_Group group, int claims, MPI_Win win,
             const void* site);
int win_start(decltype(&PMPI_Win_start) native, MPI_Group group, int claims, MPI_Win win,
              const void* site);
int win_complete(decltype(&PMPI_Win_complete) native, MPI_Win win, const void* site);
int win_wait(decltype(&PMPI_Win_wait) native, MPI_Win win, const void* site);
int win_test(decltype(&PMPI_Win_test) native, MPI_Win win, int* flag, const void* site);

}  // namespace latecomer::objects
