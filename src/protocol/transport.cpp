#include "protocol/transport.hpp"

#include "base/error.hpp"

namespace latecomer {
namespace {

[[noreturn]] void refuse() {
  throw Error("operation", "on a flag of a node", "one that this transport has");
}

}  // namespace

std::string failure_of(const Completion& failed) {
  const std::string whose = failed.peer >= 0
                                ? "a message to or from rank " + std::to_string(failed.peer)
                                : "a message or local work";
  return whose + " failed with transport error " + std::to_string(failed.error);
}

void Transport::signal(const FlagUse& /*use*/, Token /*token*/) { refuse(); }
void Transport::await(const FlagUse& /*use*/, Token /*token*/) { refuse(); }
void Transport::accumulate(const FlagUse& /*use*/, bool /*waits*/, Token /*token*/) { refuse(); }

}  // namespace latecomer
