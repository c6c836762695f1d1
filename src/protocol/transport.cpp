#include "protocol/transport.hpp"

#include "base/error.hpp"

namespace latecomer {
namespace {

[[noreturn]] void refuse() {
  throw Error("operation", "on a flag of a node", "one that this transport has");
}

}  // namespace

void Transport::signal(const FlagUse& /*use*/, Token /*token*/) { refuse(); }
void Transport::await(const FlagUse& /*use*/, Token /*token*/) { refuse(); }
void Transport::accumulate(const FlagUse& /*use*/, bool /*waits*/, Token /*token*/) { refuse(); }

}  // namespace latecomer
