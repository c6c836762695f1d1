// Names for files that a rank writes in a test.
#pragma once

#include <unistd.h>

#include <string>

namespace latecomer::testing {

/// A name of this rank alone, in memory: ranks that wait in the real-time class keep the kernel's
/// threads for disks from their core, and each file took seconds.
inline std::string scratch_name(const std::string& what) {
  return "/dev/shm/latecomer-" + what + '-' + std::to_string(getpid());
}

}  // namespace latecomer::testing
