// The last few values that were made from equal keys, for values that take long to make.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

namespace latecomer {

template <class Key, class Value>
class Kept {
 public:
  /// Returns the value of the key: a kept one, or a new one by make(key), which replaces the
  /// oldest.
  template <class Make>
  std::shared_ptr<const Value> get(const Key& key, const Make& make) {
    for (const auto& [kept, value] : values_) {
      if (kept == key) return value;
    }
    values_.emplace_front(key, std::make_shared<const Value>(make(key)));
    if (values_.size() > kMost) values_.pop_back();
    return values_.front().second;
  }

 private:
  static constexpr std::size_t kMost = 8;

  std::deque<std::pair<Key, std::shared_ptr<const Value>>> values_;
};

}  // namespace latecomer
