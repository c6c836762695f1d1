// Sleeps until another process changes a word of memory that both share.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/types.hpp"

namespace latecomer {

/// Sleeps while the word has this value, until wake_all or for at most so many seconds. May end
/// earlier.
void wait_for_change(const std::atomic<std::uint32_t>& word, std::uint32_t value, Seconds at_most);
/// Wakes all that sleep at the word.
void wake_all(const std::atomic<std::uint32_t>& word);

}  // namespace latecomer
