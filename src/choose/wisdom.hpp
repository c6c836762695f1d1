// Wisdom: what jobs have learnt of the network, for later ones, as text. A line an entry: a key,
// and by what factor each cost is off that was set, with the deviation of the factor's logarithm.
// Pure: src/runtime/settings/wisdom_file.hpp has the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "price/price.hpp"

namespace latecomer {

/// A belief of the network, beside the one that was set.
struct NetworkBelief {
  NetworkParts logarithms{};  // of the factors by which costs are off
  NetworkParts deviations{};  // of these
};

/// "start-ups=0.9/0.1 bytes=1.2/0.05 combining=1/0.5 exchanges=1.3/0.2": factors and deviations.
[[nodiscard]] std::string to_string(const NetworkBelief& belief);
/// Reads that. Throws Error, which shows nothing of the text.
[[nodiscard]] NetworkBelief parse_network_belief(const std::string& what, std::string_view text);

class Wisdom {
 public:
  static constexpr std::size_t kMost = 64;            // entries; the oldest one goes
  static constexpr std::size_t kMaxKey = 1000;        // characters
  static constexpr std::size_t kMaxText = 128 << 10;  // bytes; kMost entries are shorter

  Wisdom() = default;
  /// Reads what text() wrote; an empty text has no entries. `what`: of the text, for messages.
  /// Throws Error, which shows nothing of the text.
  Wisdom(std::string_view text, const std::string& what);

  /// Null: there is no such entry.
  [[nodiscard]] const NetworkBelief* find(std::string_view key) const;
  /// Makes this the newest entry of the key. What no text can hold is left out: numbers beyond all
  /// networks, keys that are too long or not printable.
  void put(const std::string& key, const NetworkBelief& belief);
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::string text() const;

 private:
  struct Entry {
    std::string key;
    NetworkBelief belief;
  };
  std::vector<Entry> entries_;  // the newest first
};

}  // namespace latecomer
