// The C API that takes an MPI_Comm: converts arguments and exceptions, nothing else. And the end of
// the progress thread before MPI_Finalize.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.hpp"
#include "capi/mpi/guard.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runtime/progress/progress_thread.hpp"
#include "runtime/settings/configure.hpp"

using latecomer::CommState;

namespace {

using latecomer::with_state;
using latecomer::with_state_together;

std::string_view text_of(const char* text) { return text == nullptr ? "" : text; }

[[noreturn]] void refuse_null(const char* what) {
  throw latecomer::Error(what, "NULL or empty", "a pointer to memory for the result");
}

void check_index(const char* what, int index, std::size_t count, const void* to) {
  if (to == nullptr) refuse_null("stats");
  if (index >= 0 && static_cast<std::size_t>(index) < count) return;
  throw latecomer::Error(std::string(what), std::to_string(index),
                         count == 0 ? "an index from 0 up, once a call was made"
                                    : "an index from 0 to " + std::to_string(count - 1));
}

}  // namespace

extern "C" {

int latecomer_set_algorithm(MPI_Comm comm, const char* collective, const char* algorithm) {
  return with_state_together(comm, [&](CommState& state) {
    latecomer::set_algorithm(state, text_of(collective), text_of(algorithm));
  });
}

int latecomer_set_arrivals(MPI_Comm comm, const double* seconds, int ranks) {
  return with_state(comm,
                    [&](CommState& state) { latecomer::set_arrivals(state, seconds, ranks); });
}

int latecomer_set_estimate(MPI_Comm comm, const char* estimate) {
  return with_state_together(
      comm, [&](CommState& state) { latecomer::set_estimate(state, text_of(estimate)); });
}

int latecomer_set_reproducible(MPI_Comm comm, int on) {
  return with_state_together(comm,
                             [&](CommState& state) { latecomer::set_reproducible(state, on); });
}

int latecomer_get_pattern(MPI_Comm comm, double* last, double* expected, int ranks) {
  return with_state(comm, [&](CommState& state) {
    const latecomer::Pattern pattern = latecomer::pattern_of(state, ranks);
    if (last != nullptr) std::copy(pattern.last.begin(), pattern.last.end(), last);
    if (expected != nullptr) std::copy(pattern.expected.begin(), pattern.expected.end(), expected);
  });
}

int latecomer_get_last_to_arrive(MPI_Comm comm, uint64_t* calls, int ranks) {
  return with_state(comm, [&](CommState& state) {
    if (calls == nullptr) refuse_null("calls");
    if (ranks != state.ranks) {
      throw latecomer::Error("ranks", std::to_string(ranks),
                             "the communicator's size, " + std::to_string(state.ranks));
    }
    std::fill_n(calls, ranks, 0);
    std::copy(state.last_to_arrive.begin(), state.last_to_arrive.end(), calls);
  });
}

int latecomer_compute_begin(MPI_Comm comm) { return with_state(comm, latecomer::compute_begin); }

int latecomer_compute_progress(MPI_Comm comm, double fraction) {
  return with_state(comm, [&](CommState& state) { latecomer::compute_progress(state, fraction); });
}

int latecomer_edge(MPI_Comm comm, double fraction) {
  return latecomer_compute_progress(comm, fraction);
}

int latecomer_compute_end(MPI_Comm comm) { return with_state(comm, latecomer::compute_end); }

int latecomer_set_network(MPI_Comm comm, const char* network) {
  return with_state(comm,
                    [&](CommState& state) { latecomer::set_network(state, text_of(network)); });
}

int latecomer_set_long_wait(MPI_Comm comm, double seconds) {
  return with_state(comm, [&](CommState& state) { latecomer::set_long_wait(state, seconds); });
}

int latecomer_get_stats(MPI_Comm comm, latecomer_stats* stats) {
  return with_state(comm, [&](CommState& state) {
    if (stats == nullptr) refuse_null("stats");
    *stats = state.stats;
  });
}

int latecomer_count_stats(MPI_Comm comm, int* keys, int* sites) {
  return with_state(comm, [&](CommState& state) {
    if (keys != nullptr) *keys = static_cast<int>(state.records().key_count());
    if (sites != nullptr) *sites = static_cast<int>(state.records().sites().size());
  });
}

int latecomer_get_key_stats(MPI_Comm comm, int index, latecomer_key_stats* stats) {
  return with_state(comm, [&](CommState& state) {
    check_index("key", index, state.records().key_count(), stats);
    *stats = state.records().key(static_cast<std::size_t>(index));
  });
}

int latecomer_get_site_stats(MPI_Comm comm, int index, latecomer_site_stats* stats) {
  return with_state(comm, [&](CommState& state) {
    check_index("call site", index, state.records().sites().size(), stats);
    *stats = state.records().sites()[static_cast<std::size_t>(index)];
  });
}

int latecomer_get_parameters(MPI_Comm comm, char* text, size_t size) {
  return with_state(comm, [&](CommState& state) {
    if (text == nullptr || size == 0) refuse_null("text");
    const std::size_t length = std::min(size - 1, state.parameters.size());
    std::memcpy(text, state.parameters.data(), length);
    text[length] = '\0';
  });
}

int latecomer_get_clock_error(MPI_Comm comm, double* seconds) {
  return with_state(comm, [&](CommState& state) {
    if (seconds == nullptr) refuse_null("seconds");
    *seconds =
        state.resources ? state.resources->clocks.error() : std::numeric_limits<double>::infinity();
  });
}

void latecomer_prepare_finalize(void) { latecomer::prepare_finalize(); }

/// Weak, so that the wrapper of a PMPI tool that is linked statically takes its place.
__attribute__((weak, visibility("default"))) int MPI_Finalize() {
  latecomer::prepare_finalize();
  void* const next = dlsym(RTLD_NEXT, "MPI_Finalize");  // a tool's, or the MPI library's
  return next != nullptr ? reinterpret_cast<int (*)()>(next)() : PMPI_Finalize();
}

}  // extern "C"
