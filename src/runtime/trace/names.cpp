#include "runtime/trace/names.hpp"

#include <new>

#include "runtime/report/stats_report.hpp"

namespace latecomer::trace {

std::uint32_t Names::site(const void* address) try {
  if (address == last_site_.first) return last_site_.second;
  const auto found = sites_.find(address);
  const bool is_known = found != sites_.end();
  const std::uint32_t number = is_known             ? found->second
                               : address == nullptr ? 0
                                                    : id(name_of_site(address));
  if (!is_known && sites_.size() < kMostTexts) sites_.emplace(address, number);
  last_site_ = {address, number};
  return number;
} catch (const std::bad_alloc&) {
  return 0;
}

}  // namespace latecomer::trace
