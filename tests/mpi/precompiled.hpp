// Most files of these tests include these headers, which are read once.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "runner.hpp"
#include "runtime/attachment.hpp"
