// Rejected by tools/check_layers.py: base may not know the schedule above it.
#include "schedule/plan.hpp"
