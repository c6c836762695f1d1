#include "protocol/transport.hpp"

namespace latecomer {

std::string failure_of(const Completion& failed) {
  const std::string whose = failed.peer >= 0
                                ? "a message to or from rank " + std::to_string(failed.peer)
                                : "a message or local work";
  return whose + " failed with transport error " + std::to_string(failed.error);
}

}  // namespace latecomer
