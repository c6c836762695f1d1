// Memory that threads share, in which loads may return old values as far as C++ lets them; all that
// each thread may do next is at hand, so that every order and every old value can be tried.
//
// Each word has the list of its stores. A thread has seen one of each, and may read that one or any
// later one. A store that releases hands on all that its thread has seen, and a load that acquires
// takes it over. Sequentially consistent loads see no store that is older than one that an earlier
// sequentially consistent operation on the word wrote or saw. Stores take their place in the list
// when they are executed: those that C++ would let stand before another thread's are not tried.
//
// A thread is a function, which is called anew for each of its steps: what its operations returned
// before is on record.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace latecomer::testing {

class StaleWorld {
 public:
  using Programs = std::vector<std::function<void()>>;  // by thread
  using Event = StaleWorld;

  StaleWorld(const Programs& programs, std::size_t words, std::size_t data)
      : programs_(&programs), state_(std::make_shared<State>(programs.size(), words, data)) {}

  [[nodiscard]] std::vector<Event> events() const {
    std::vector<Event> all;
    if (!mistake().empty()) return all;
    for (std::size_t thread = 0; thread < programs_->size(); ++thread) {
      if (state_->threads[thread].done || state_->threads[thread].sleeps_at >= 0) continue;
      std::vector<Choice> choices;
      do {
        auto next = std::make_shared<State>(*state_);
        if (!Step(*next, thread, choices).run((*programs_)[thread])) continue;
        all.push_back(*this);
        all.back().state_ = std::move(next);
      } while (next_choice(choices));
    }
    return all;
  }
  void happen(const Event& event) { state_ = event.state_; }

  /// The first mistake, in words; empty if there is none.
  [[nodiscard]] const std::string& mistake() const { return state_->mistake; }
  /// True if all threads have ended.
  [[nodiscard]] bool over() const {
    return std::ranges::all_of(state_->threads, [](const Thread& thread) { return thread.done; });
  }
  [[nodiscard]] std::string key() const {
    std::string text = mistake();
    text.reserve(1024);
    const auto add = [&](const auto* numbers, std::size_t count) {
      text.append(reinterpret_cast<const char*>(numbers), count * sizeof *numbers);
    };
    const std::size_t seen = state_->seen;
    for (const Thread& thread : state_->threads) {
      const std::size_t size = thread.record.size();
      add(&size, 1), add(&thread.sleeps_at, 1), add(&thread.done, 1);
      add(thread.record.data(), size), add(thread.seen.data(), seen);
    }
    for (const Word& word : state_->words) {
      add(&word.consistent, 1);
      for (const Store& store : word.stores) {
        add(&store.value, 1), add(store.released.data(), seen);
      }
    }
    for (const Data& data : state_->data) add(&data.value, 1), add(&data.writes, 1);
    return text;
  }

  /// Words are numbered as they are made.
  inline static std::size_t words_made = 0;

  // --- For the programs, while they run ---

  enum class Kind : std::uint8_t { load, store, add, exchange, sleep, wake };
  struct Operation {
    Kind kind;
    std::size_t word;
    std::memory_order order = std::memory_order_seq_cst;
    std::uint64_t value = 0;     // that it writes, adds or finds unchanged
    std::uint64_t expected = 0;  // exchange
  };
  /// Returns the value that the word had, for the operations that read it.
  static std::uint64_t perform(const Operation& operation) { return running_->perform(operation); }
  /// Waits until the condition holds. It may change nothing unless it does.
  template <class Condition>
  static void until(Condition&& condition) {
    running_->until(std::forward<Condition>(condition));
  }
  static void expect(bool right, const char* mistake) { running_->expect(right, mistake); }
  /// Data that are no words: every two accesses of which one writes must be ordered.
  static void write(std::size_t data, std::uint64_t value) { running_->access(data, &value); }
  static std::uint64_t read(std::size_t data) { return running_->access(data, nullptr); }

 private:
  /// By word: a store. Then, for each datum, its writes, and its reads by thread.
  using View = std::array<std::uint8_t, 48>;
  struct Store {
    std::uint64_t value = 0;
    View released{};  // what a load that acquires takes over
  };
  struct Word {
    std::vector<Store> stores;
    std::uint8_t consistent = 0;  // the store that sequentially consistent operations have seen
  };
  struct Data {
    std::uint64_t value = 0;
    std::uint8_t writes = 0;
    std::vector<std::uint8_t> reads = {};  // by thread
  };
  struct Thread {
    View seen{};
    std::vector<std::uint64_t> record = {};  // what its operations returned
    std::int64_t sleeps_at = -1;             // a word
    bool done = false;
  };
  struct State {
    State(std::size_t count, std::size_t some_words, std::size_t some_data)
        : seen(some_words + some_data * (1 + count)),
          words(some_words),
          data(some_data, {.reads = std::vector<std::uint8_t>(count)}),
          threads(count) {
      if (seen > View().size()) throw std::length_error("more words and data than a view holds");
      for (Word& word : words) word.stores.push_back({});
    }

    std::size_t seen;  // entries of views that are in use
    std::vector<Word> words;
    std::vector<Data> data;
    std::vector<Thread> threads;
    std::string mistake;
  };
  struct Choice {
    std::size_t taken;
    std::size_t options;
  };
  struct Paused {};
  struct Unready {};

  [[nodiscard]] static bool next_choice(std::vector<Choice>& choices) {
    while (!choices.empty() && choices.back().taken + 1 == choices.back().options) {
      choices.pop_back();
    }
    if (choices.empty()) return false;
    ++choices.back().taken;
    return true;
  }
  static void join(View& view, const View& other) {
    for (std::size_t i = 0; i < view.size(); ++i) view[i] = std::max(view[i], other[i]);
  }

  /// One step of one thread: one operation on a word, or a whole look at a condition, with the
  /// accesses to data around it.
  class Step {
   public:
    Step(State& state, std::size_t thread, std::vector<Choice>& choices)
        : state_(state), me_(state.threads[thread]), thread_(thread), choices_(choices) {}

    /// Returns false if the thread waits.
    bool run(const std::function<void()>& program) {
      running_ = this;
      try {
        program();
        me_.done = true;
      } catch (const Paused&) {
      } catch (const Unready&) {
        return false;
      }
      return true;
    }

    std::uint64_t perform(const Operation& operation) {
      if (replays()) return me_.record[next_++];
      if (!looks_ && std::exchange(moved_, true)) throw Paused();
      const std::uint64_t result = carry_out(operation);
      note(result);
      if (me_.sleeps_at >= 0) throw Paused();
      return result;
    }
    template <class Condition>
    void until(Condition&& condition) {
      if (replays()) return void(condition());
      if (moved_) throw Paused();
      const std::size_t before = next_;
      looks_ = true;
      if (!condition()) throw Unready();
      looks_ = false;
      moved_ = next_ > before;
    }
    std::uint64_t access(std::size_t index, const std::uint64_t* written) {
      if (replays()) return me_.record[next_++];
      Data& data = state_.data[index];
      std::uint8_t* const seen = &me_.seen[state_.words.size() + index * (1 + data.reads.size())];
      bool ordered = seen[0] == data.writes;
      if (written != nullptr) {
        for (std::size_t i = 0; i < data.reads.size(); ++i) ordered &= seen[1 + i] == data.reads[i];
        data.value = *written;
        seen[0] = ++data.writes;
      } else {
        seen[1 + thread_] = ++data.reads[thread_];
      }
      expect(ordered, "two accesses to data are not ordered");
      note(data.value);
      return data.value;
    }
    void expect(bool right, const char* mistake) {
      if (!right && state_.mistake.empty()) state_.mistake = mistake;
    }

   private:
    [[nodiscard]] bool replays() const { return next_ < me_.record.size(); }
    void note(std::uint64_t result) {
      me_.record.push_back(result);
      ++next_;
    }
    std::size_t choose(std::size_t options) {
      if (chosen_ == choices_.size()) choices_.push_back({0, options});
      return choices_[chosen_++].taken;
    }

    std::uint64_t carry_out(const Operation& operation) {
      Word& word = state_.words[operation.word];
      const std::uint64_t newest = word.stores.back().value;
      switch (operation.kind) {
        case Kind::load:
          return load(operation, word);
        case Kind::store:
          store(operation, word, operation.value, {});
          return 0;
        case Kind::add:
          change(operation, word, newest + operation.value);
          return newest;
        case Kind::exchange:
          me_.seen[operation.word] = static_cast<std::uint8_t>(word.stores.size() - 1);
          if (newest == operation.expected) change(operation, word, operation.value);
          return newest;
        case Kind::sleep:
          if (newest == operation.value) me_.sleeps_at = static_cast<std::int64_t>(operation.word);
          return 0;
        case Kind::wake:
          for (Thread& thread : state_.threads) {
            if (thread.sleeps_at == static_cast<std::int64_t>(operation.word)) {
              thread.sleeps_at = -1;
            }
          }
      }
      return 0;
    }
    std::uint64_t load(const Operation& operation, Word& word) {
      std::uint8_t& seen = me_.seen[operation.word];
      const bool consistent = operation.order == std::memory_order_seq_cst;
      if (consistent) seen = std::max(seen, word.consistent);
      seen = static_cast<std::uint8_t>(seen + choose(word.stores.size() - seen));
      if (consistent) word.consistent = seen;
      const Store& found = word.stores[seen];
      if (operation.order != std::memory_order_relaxed) join(me_.seen, found.released);
      return found.value;
    }
    void change(const Operation& operation, Word& word, std::uint64_t value) {
      const View before = word.stores.back().released;  // a release sequence goes on
      if (acquires(operation.order)) join(me_.seen, before);
      store(operation, word, value, before);
    }
    void store(const Operation& operation, Word& word, std::uint64_t value, View released) {
      const auto number = static_cast<std::uint8_t>(word.stores.size());
      me_.seen[operation.word] = number;
      if (releases(operation.order)) join(released, me_.seen);
      released[operation.word] = number;
      word.stores.push_back({value, std::move(released)});
      if (operation.order == std::memory_order_seq_cst) word.consistent = number;
    }
    [[nodiscard]] static bool acquires(std::memory_order order) {
      return order != std::memory_order_relaxed && order != std::memory_order_release;
    }
    [[nodiscard]] static bool releases(std::memory_order order) {
      return order != std::memory_order_relaxed && order != std::memory_order_acquire;
    }

    State& state_;
    Thread& me_;
    std::size_t thread_;
    std::vector<Choice>& choices_;
    std::size_t chosen_ = 0;
    std::size_t next_ = 0;  // on record
    bool moved_ = false;
    bool looks_ = false;  // at a condition
  };

  inline static Step* running_ = nullptr;

  const Programs* programs_;
  std::shared_ptr<const State> state_;
};

/// Takes the place of std::atomic. `Order` maps the orders that the code asks for.
template <class T, std::memory_order (*Order)(std::memory_order)>
class StaleWord {
  using World = StaleWorld;

 public:
  [[nodiscard]] T load(std::memory_order order) const {
    return perform({World::Kind::load, number_, Order(order)});
  }
  void store(T value, std::memory_order order) {
    perform({World::Kind::store, number_, Order(order), value});
  }
  T fetch_add(T value, std::memory_order order) {
    return perform({World::Kind::add, number_, Order(order), value});
  }
  bool compare_exchange_weak(T& expected, T value, std::memory_order order,
                             std::memory_order /*failing*/) {
    const T found = perform({World::Kind::exchange, number_, Order(order), value, expected});
    return std::exchange(expected, found) == found;
  }
  StaleWord& operator=(T value) {
    store(value, std::memory_order_seq_cst);
    return *this;
  }
  operator T() const { return load(std::memory_order_seq_cst); }

  friend void wait_for_change(const StaleWord& word, T value, double /*at_most*/) {
    perform({World::Kind::sleep, word.number_, std::memory_order_relaxed, value});
  }
  friend void wake_all(const StaleWord& word) { perform({World::Kind::wake, word.number_}); }

 private:
  static T perform(const World::Operation& operation) {
    return static_cast<T>(World::perform(operation));
  }

  std::size_t number_ = StaleWorld::words_made++;
};

}  // namespace latecomer::testing
