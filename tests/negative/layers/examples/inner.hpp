// Rejected by tools/check_layers.py: examples use what users may, the public headers.
#include "engine/engine.hpp"
