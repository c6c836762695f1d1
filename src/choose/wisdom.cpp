#include "choose/wisdom.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "base/reproducible.hpp"

namespace latecomer {
namespace {

constexpr std::string_view kHead = "latecomer wisdom 1";
constexpr std::string_view kAbout =
    "# factors of the network's costs by those that were set / deviations of their logarithms";
constexpr std::array<std::string_view, std::tuple_size_v<NetworkParts>> kParts = {
    "start-ups", "bytes", "combining", "exchanges"};
constexpr std::string_view kBetween = ": ";  // a key and its belief
constexpr double kMostOff = 1e6;             // times
constexpr double kMostDeviation = 10;
constexpr int kDigits = 4;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(what, "text",
              "start-ups=0.9/0.1 bytes=1.2/0.05 combining=1/0.5 exchanges=1.3/0.2, with factors "
              "from 1e-6 to 1e6 and deviations from 0 to 10");
}

bool is_usable(std::string_view key) {
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  return !key.empty() && key.front() != '#' && key.size() <= Wisdom::kMaxKey &&
         std::ranges::all_of(key, printable) && key.find(kBetween) == std::string_view::npos;
}

/// Not for NaN.
bool is_usable(const NetworkBelief& belief) {
  const double most = log_of(kMostOff);
  return std::ranges::all_of(belief.logarithms,
                             [=](double x) { return x >= -most && x <= most; }) &&
         std::ranges::all_of(belief.deviations,
                             [](double x) { return x >= 0 && x <= kMostDeviation; });
}

}  // namespace

std::string to_string(const NetworkBelief& belief) {
  std::string text;
  for (std::size_t part = 0; part < kParts.size(); ++part) {
    text += (part == 0 ? "" : " ") + std::string(kParts[part]) + '=' +
            format_digits(exp_of(belief.logarithms[part]), kDigits) + '/' +
            format_digits(belief.deviations[part], kDigits);
  }
  return text;
}

NetworkBelief parse_network_belief(const std::string& what, std::string_view text) try {
  const auto words = split(text, ' ');
  if (words.size() != kParts.size()) refuse(what);
  NetworkBelief belief;
  for (std::size_t part = 0; part < kParts.size(); ++part) {
    const auto sides = split(words[part], '=');
    const auto numbers = split(sides.back(), '/');
    if (sides.size() != 2 || sides.front() != kParts[part] || numbers.size() != 2) refuse(what);
    const double factor = parse_number(what, numbers.front());
    if (!(factor >= 1 / kMostOff && factor <= kMostOff)) refuse(what);
    belief.logarithms[part] = log_of(factor);
    belief.deviations[part] = parse_number(what, numbers.back());
    if (!(belief.deviations[part] >= 0 && belief.deviations[part] <= kMostDeviation)) refuse(what);
  }
  return belief;
} catch (const Error&) {
  refuse(what);
}

Wisdom::Wisdom(std::string_view text, const std::string& what) {
  if (text.empty()) return;
  if (!text.ends_with('\n')) throw Error(what, "its end", "a whole line; remove the file");
  text.remove_suffix(1);
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    const std::string place = "line " + std::to_string(++number);
    if (number == 1) {
      if (line == kHead) continue;
      throw Error(what, place, "'" + std::string(kHead) + "', as this version writes it");
    }
    if (line.empty() || line.front() == '#') continue;
    const auto at = line.find(kBetween);
    const std::string_view key = line.substr(0, at);
    if (at == std::string_view::npos || !is_usable(key))
      throw Error(what, place, "a key of printable characters, a colon and a space, and numbers");
    if (find(key) != nullptr) throw Error(what, place, "another key than those above");
    if (entries_.size() == kMost)
      throw Error(what, place, "the end: there are at most " + std::to_string(kMost) + " entries");
    entries_.push_back(
        {std::string(key), parse_network_belief(std::string(what).append(", ").append(place),
                                                line.substr(at + kBetween.size()))});
  }
}

const NetworkBelief* Wisdom::find(std::string_view key) const {
  const auto found = std::ranges::find(entries_, key, &Entry::key);
  return found == entries_.end() ? nullptr : &found->belief;
}

void Wisdom::put(const std::string& key, const NetworkBelief& belief) {
  if (!is_usable(key) || !is_usable(belief)) return;
  std::erase_if(entries_, [&](const Entry& each) { return each.key == key; });
  entries_.insert(entries_.begin(), {key, belief});
  if (entries_.size() > kMost) entries_.pop_back();
}

std::string Wisdom::text() const {
  std::string text = std::string(kHead) + '\n' + std::string(kAbout) + '\n';
  for (const Entry& each : entries_) {
    text += each.key + std::string(kBetween) + to_string(each.belief) + '\n';
  }
  return text;
}

}  // namespace latecomer
