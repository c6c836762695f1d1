// The network that communicators assume until they are told another one.
#pragma once

#include <string_view>

#include "base/network.hpp"

namespace latecomer {

/// Costs as parse_network reads them, or @FILE: a file with one line of costs and comments that
/// start with #, as `latecomer calibrate` writes it. Throws Error, which shows nothing of the file.
[[nodiscard]] Network read_network(std::string_view text);

/// That of the environment variable LATECOMER_NETWORK; the built-in one without it. One that cannot
/// be read is reported on stderr, once a job, and not used.
[[nodiscard]] Network default_network();

}  // namespace latecomer
