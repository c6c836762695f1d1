// Work that can be left out where there is no memory for it.
#pragma once

#include <new>

namespace latecomer {

/// Runs `work`. Returns false if it was left, at some place, for lack of memory.
template <class Work>
bool if_memory(Work&& work) try {
  work();
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

}  // namespace latecomer
