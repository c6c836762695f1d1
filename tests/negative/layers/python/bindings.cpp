// Rejected by tools/check_layers.py: the row of this file names base only.
#include "base/upward.hpp"
#include "engine/engine.hpp"
