// The eager limit, by trying: up to this length a send ends before the receive is posted. And how
// many bytes of such messages a sender need not wait for.
#pragma once

#include <cstdint>

#include "messages.hpp"
#include "team.hpp"

namespace bench {

/// The longest eager message, to the byte; `largest` if even that one is. Collective over all
/// ranks; two members are asked.
[[nodiscard]] std::int64_t find_eager_limit(const Team& team, Messages& messages,
                                            std::int64_t largest);

/// The most bytes of eager messages to one rank, 256 KiB to 4 MiB, whose sends are over long before
/// the messages have passed the link; 0 if not even the fewest are. As find_eager_limit().
[[nodiscard]] std::int64_t find_buffer(const Team& team, Messages& messages, std::int64_t eager);

}  // namespace bench
