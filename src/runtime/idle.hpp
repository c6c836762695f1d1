// Gives the processor away while nothing comes. Where ranks share cores, their polling takes the
// time that the others need: then short sleeps do better than yielding. On a core of one's own a
// sleep would only be late.
#pragma once

#include "base/types.hpp"

namespace latecomer {

class Idle {
 public:
  /// `crowded`: ranks share cores. Otherwise slow polls show if something else does.
  explicit Idle(bool crowded) : crowded_(crowded) {}

  void progressed() { polls_ = 0; }
  /// Nothing came for `waited` by now.
  void pause(Seconds waited);

 private:
  bool crowded_;
  int polls_ = 0;  // in vain, since the last progress
};

}  // namespace latecomer
