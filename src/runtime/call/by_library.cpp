#include "runtime/call/by_library.hpp"

#include "base/arithmetic.hpp"
#include "runtime/call/due.hpp"
#include "runtime/call/learning.hpp"

namespace latecomer {

int execute_natively(CommState& state, const Call& call) {
  const ReleasedCommLock released(state.lock);
  const Seconds entered = monotonic_clock();
  const int code = [&] {
    const OwnArithmetic::Programs arithmetic;
    return call.native();
  }();
  state.inside = monotonic_clock() - entered;
  return code;
}

Ending execute_by_library(CommState& state, const Request& request, CallCounter counter,
                          CallClass* call_class, Seconds entered) {
  state.chooser.skip();
  const Ending ending{execute_natively(state, request.call), counter, false, call_class};
  if (call_class == nullptr || !Chooser::watched(*call_class, monotonic_clock() - entered))
    return ending;
  note_device_memory(state, request.call);
  return review_in_time(state, request.problem, ending);
}

}  // namespace latecomer
