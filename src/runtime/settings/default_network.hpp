// The network that communicators assume unless another one is set.
#pragma once

#include <string_view>

#include "base/network.hpp"

namespace latecomer {

/// Costs as parse_network reads them, or @FILE: a file with one line of costs and comments that
/// start with #, as `latecomer calibrate` writes it. Throws Error, which shows nothing of the file.
[[nodiscard]] Network read_network(std::string_view text);

/// The network of the environment variable LATECOMER_NETWORK, else of the rules in force, else the
/// built-in one. A value that
/// cannot be read is reported on stderr, once a job, and not used.
[[nodiscard]] Network default_network();

}  // namespace latecomer
