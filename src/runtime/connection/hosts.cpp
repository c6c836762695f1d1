#include "runtime/connection/hosts.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>

namespace latecomer {
namespace {

constexpr std::size_t kMostNamed = 4;  // more would hide the rest of a message

}  // namespace

Hosts::Hosts(const Introductions& all) {
  std::map<std::string, std::uint32_t> numbers;
  for (const Introduction& one : all) {
    const std::string name(one.host.data(), strnlen(one.host.data(), one.host.size()));
    const auto next = static_cast<std::uint32_t>(names_.size());
    const auto [place, is_new] = numbers.try_emplace(name, next);
    if (is_new) names_.push_back(name);
    indices_.push_back(place->second);
  }
}

std::string Hosts::whereabouts(std::span<const Rank> ranks) const {
  std::string text;
  for (const Rank rank : ranks.first(std::min(ranks.size(), kMostNamed))) {
    text += (text.empty() ? "; rank " : ", rank ") + std::to_string(rank) +
            (text.empty() ? " is on host " : " on host ") +
            names_[indices_[static_cast<std::size_t>(rank)]];
  }
  return text;
}

std::string Hosts::whereabouts(std::string_view message) const {
  constexpr std::string_view kRank = "rank ";
  std::vector<Rank> ranks;
  for (auto at = message.find(kRank); at != std::string_view::npos; at = message.find(kRank, at)) {
    at += kRank.size();
    Rank rank = -1;
    const char* const digits = message.data() + at;
    (void)std::from_chars(digits, message.data() + message.size(), rank);
    if (rank < 0 || static_cast<std::size_t>(rank) >= indices_.size()) continue;
    if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
  }
  return whereabouts(ranks);
}

}  // namespace latecomer
