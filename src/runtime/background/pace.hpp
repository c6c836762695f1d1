// How long the progress thread sleeps: hardly while messages come, longer and longer while none do,
// and in the end so long that its looking takes less than a hundredth of a core.
#pragma once

#include "base/types.hpp"

namespace latecomer {

class Pace {
 public:
  /// Gives the processor away after a look; `moved`: there was something to do.
  void pause(bool moved);

  /// The sleep after `waited` seconds without anything to do, where a look costs `cost` seconds of
  /// a core.
  [[nodiscard]] static Seconds sleep_after(Seconds waited, Seconds cost);

 private:
  Seconds last_moved_ = 0;
  Seconds used_ = 0;  // of a core, by this thread
};

}  // namespace latecomer
