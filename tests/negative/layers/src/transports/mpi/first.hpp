#pragma once
#include "transports/mpi/second.hpp"
