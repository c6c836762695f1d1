// The values that the ranks of a world give, and the results that are right.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "worlds/world.hpp"

namespace latecomer::worlds {

/// Bytes of an element of each `Step::type`.
inline constexpr std::size_t kWidth[] = {4, 8, 8};

/// Two 32-bit numbers stand for x -> a x + b; combining two is doing one after the other, which
/// does not commute.
void compose(void* in, void* inout, int* count, MPI_Datatype* type);
/// The elements that the rank `rank` of the communicator gives in the step of this number.
std::vector<char> vector_of(const Step& step, int number, int rank, int count);
/// The vectors of all ranks, combined in rank order.
std::vector<char> reduced(const Step& step, int number, int ranks);
/// `got` is `right`; doubles may be rounded in another order.
bool agree(const Step& step, const std::vector<char>& got, const std::vector<char>& right);

}  // namespace latecomer::worlds
