// A line of ranks without data or clock: all that can happen next is at hand, so that every order
// of events can be tried.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/reduce/local_redirect/local_redirect_state.hpp"
#include "unit/futures.hpp"

namespace latecomer::testing {

/// `Member`: a LocalRedirectState.
template <class Member>
class LineWorld {
 public:
  enum class Happening : std::uint8_t { arrival, word, data };
  /// To `to`; of words and data, from `from`.
  struct Event {
    Happening what;
    Rank from;
    Rank to;
  };

  explicit LineWorld(Rank ranks) : absent_(static_cast<std::size_t>(ranks), true) {
    for (Rank at = 0; at < ranks; ++at) {
      members_.emplace_back(at, ranks);
      runs_.push_back({at, at});
    }
  }

  [[nodiscard]] std::vector<Event> events() const {
    std::vector<Event> all;
    for (std::size_t at = 0; at < absent_.size(); ++at) {
      if (absent_[at]) all.push_back({Happening::arrival, -1, static_cast<Rank>(at)});
    }
    for (const auto& [pair, words] : words_) {
      all.push_back({Happening::word, pair.first, pair.second});
    }
    for (const auto& [to, from] : awaited_) {
      if (data_.contains({from, to})) all.push_back({Happening::data, from, to});
    }
    return all;
  }

  void happen(const Event& event) {
    auto& member = members_[static_cast<std::size_t>(event.to)];
    switch (event.what) {
      case Happening::arrival:
        absent_[static_cast<std::size_t>(event.to)] = false;
        return follow(event.to, member.arrive());
      case Happening::word:
        return follow(event.to, member.hear(event.from, next_word({event.from, event.to})));
      case Happening::data:
        awaited_.erase(event.to);
        merge(data_.extract({event.from, event.to}).mapped(), event.to);
        return follow(event.to, member.merged());
    }
  }

  /// True if data were merged in another order than that of the line.
  [[nodiscard]] bool confused() const { return confused_; }
  /// True if this state, in which nothing can happen any more, is the wanted end.
  [[nodiscard]] bool over() const {
    for (std::size_t at = 0; at + 1 < members_.size(); ++at) {
      if (!members_[at].gone()) return false;
    }
    const Run all{0, static_cast<Rank>(members_.size()) - 1};
    return members_.back().complete() && runs_.back() == all && data_.empty();
  }

  /// Equal for worlds with the same future.
  [[nodiscard]] std::string key() const {
    std::string text;
    const auto add = [&](auto number) { text.push_back(static_cast<char>(number)); };
    for (std::size_t at = 0; at < members_.size(); ++at) {
      for (const Count part : future_of(members_[at])) add(part);
      add(absent_[at] ? 1 : 0);
      add(runs_[at].first);
      add(runs_[at].second);
    }
    for (const auto& [pair, words] : words_) {
      add(pair.first);
      add(pair.second);
      for (const reduce::Word& word : words) {
        add(static_cast<Rank>(word.said));
        add(word.position);
      }
      add(-2);
    }
    for (const auto& [to, from] : awaited_) add(to), add(from);
    add(-3);
    for (const auto& [pair, run] : data_) add(pair.first), add(pair.second);
    return text;
  }

 private:
  using Run = std::pair<Rank, Rank>;
  using Pair = std::pair<Rank, Rank>;  // from, to

  reduce::Word next_word(const Pair& pair) {
    const auto channel = words_.find(pair);
    const reduce::Word word = channel->second.front();
    channel->second.pop_front();
    if (channel->second.empty()) words_.erase(channel);
    return word;
  }
  void merge(const Run& given, Rank to) {
    Run& mine = runs_[static_cast<std::size_t>(to)];
    if (given.second + 1 != mine.first) confused_ = true;
    mine.first = given.first;
  }
  void follow(Rank me, const reduce::LocalRedirectState::Step& step) {
    for (const auto& [to, word] : step.tell) words_[{me, to}].push_back(word);
    if (step.receive_from >= 0) confused_ |= !awaited_.emplace(me, step.receive_from).second;
    if (step.give_to < 0) return;
    const Run& mine = runs_[static_cast<std::size_t>(me)];
    confused_ |= !data_.emplace(Pair{me, step.give_to}, mine).second;
  }

  std::vector<Member> members_;
  std::vector<bool> absent_;
  std::vector<Run> runs_;                           // the ranks in each partial result
  std::map<Pair, std::deque<reduce::Word>> words_;  // under way, in their order
  std::map<Rank, Rank> awaited_;                    // by receiver: the giver
  std::map<Pair, Run> data_;                        // under way
  bool confused_ = false;
};

}  // namespace latecomer::testing
