#include "transports/mpi/second.hpp"

#include "transports/mpi/first.hpp"
