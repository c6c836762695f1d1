#include "runtime/trace/texts.hpp"

#include <algorithm>
#include <new>

#include "runtime/report/stats_report.hpp"

namespace latecomer::trace {
namespace {

constexpr std::size_t kMaxTexts = 1 << 14;
constexpr std::size_t kLongestText = 1 << 10;  // bytes

}  // namespace

std::uint32_t Texts::id(std::string_view words) try {
  words = words.substr(0, kLongestText);
  if (const auto found = ids_.find(words); found != ids_.end()) return found->second;
  constexpr std::size_t kPiece = sizeof(Text::piece);
  const std::size_t pieces = std::max<std::size_t>(1, (words.size() + kPiece - 1) / kPiece);
  if (ids_.size() >= kMaxTexts || !file_.has_room(pieces)) return 0;
  const auto fresh = static_cast<std::uint32_t>(ids_.size());
  ids_.emplace(words, fresh);
  for (std::size_t i = 0; i < pieces; ++i) {
    const std::string_view piece = words.substr(i * kPiece, kPiece);
    Text record;
    record.id = fresh;
    record.bytes = static_cast<std::uint8_t>(piece.size());
    record.last = i + 1 == pieces ? 1 : 0;
    std::copy(piece.begin(), piece.end(), record.piece.begin());
    file_.append(record);
  }
  return fresh;
} catch (const std::bad_alloc&) {
  return 0;
}

std::uint32_t Texts::site(const void* address) try {
  if (address == last_site_.first) return last_site_.second;
  const auto found = sites_.find(address);
  const bool is_known = found != sites_.end();
  const std::uint32_t number = is_known             ? found->second
                               : address == nullptr ? 0
                                                    : id(name_of_site(address));
  if (!is_known && sites_.size() < kMaxTexts) sites_.emplace(address, number);
  last_site_ = {address, number};
  return number;
} catch (const std::bad_alloc&) {
  return 0;
}

}  // namespace latecomer::trace
