#include "runtime/letters.hpp"

#include <memory>
#include <vector>

#include "runtime/waiting.hpp"
#include "transports/mpi/drain.hpp"

namespace latecomer {

void Letters::send_bytes(Rank peer, const void* content, std::size_t size) {
  if (failed()) return;
  const auto* const first = static_cast<const char*>(content);
  auto letter = std::make_unique<std::vector<char>>(first, first + size);
  std::vector<MPI_Request> sends(1, MPI_REQUEST_NULL);
  check(PMPI_Isend(letter->data(), static_cast<int>(size), MPI_BYTE, peer, tag_, link_.comm->get(),
                   sends.data()));
  wait(peer, [&] {
    int done = 0;
    check(PMPI_Test(sends.data(), &done, MPI_STATUS_IGNORE));
    return done != 0;
  });
  if (!failed()) return;
  std::vector<MPI_Request> receives;
  drain(receives, sends);
  (void)letter.release();  // MPI may still read it
}

/// Nothing is posted, so that nothing is left to cancel after a failure.
void Letters::receive_bytes(Rank peer, void* content, std::size_t size) {
  const MPI_Comm comm = link_.comm->get();
  wait(peer, [&] {
    int found = 0;
    check(PMPI_Iprobe(peer, tag_, comm, &found, MPI_STATUS_IGNORE));
    return found != 0;
  });
  if (failed()) return;
  check(PMPI_Recv(content, static_cast<int>(size), MPI_BYTE, peer, tag_, comm, MPI_STATUS_IGNORE));
}

template <class Done>
void Letters::wait(Rank peer, Done&& done) {
  Waiting waiting(link_, options_);
  while (!failed() && !done()) {
    waiting.pause([&] { waiting.say("for rank " + std::to_string(peer) + ' ' + purpose_); });
    if (waiting.trouble()) outcome_ = {disagreement_class(), *waiting.trouble()};
  }
}

void Letters::check(int code) {
  if (code != MPI_SUCCESS) outcome_ = {code, "a message " + purpose_ + " failed"};
}

}  // namespace latecomer
