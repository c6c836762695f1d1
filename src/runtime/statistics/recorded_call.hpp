// A call on its way into the statistics.
#pragma once

#include "runtime/route.hpp"

namespace latecomer {

class RecordedCall {
 public:
  /// This rank enters the call.
  RecordedCall(CommState& state, const Call& call);
  /// It leaves it with this code.
  void end(int code);

 private:
  CommState& state_;
  const Call& arguments_;
  EndedCall call_;
  Seconds entered_;
};

}  // namespace latecomer
