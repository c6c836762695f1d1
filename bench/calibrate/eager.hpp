// The eager limit, by trying: up to this length a send ends before the receive is posted.
#pragma once

#include <cstdint>

#include "messages.hpp"
#include "team.hpp"

namespace bench {

/// The longest eager message, to the byte; `largest` if even that one is. Collective over all
/// ranks; two members are asked.
[[nodiscard]] std::int64_t find_eager_limit(const Team& team, Messages& messages,
                                            std::int64_t largest);

}  // namespace bench
