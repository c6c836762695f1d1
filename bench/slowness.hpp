// Makes combining slow on one rank, by sleeping in it: MPI gives an operator no other way to know.
#pragma once

#include <cstdint>

namespace bench {

/// From now on each element that is combined on this rank takes so many seconds longer.
void be_slow(double seconds_an_element);

/// After some elements were combined. Sleeps, as it computes: ranks may share cores.
void lose_time(std::int64_t elements);

}  // namespace bench
