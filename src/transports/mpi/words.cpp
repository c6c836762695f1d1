#include "transports/mpi/words.hpp"

namespace latecomer {
namespace {

constexpr int kLookEvery = 4;  // questions, while nothing comes

}  // namespace

void Words::begin(std::uint64_t call) {
  call_ = call;
  questions_left_ = 0;
  if (!kept_.empty()) {
    std::erase_if(kept_, [call](const Received& kept) { return kept.letter.call < call; });
  }
}

void Words::tell(Rank to, std::uint64_t word) {
  used_ = true;
  const Letter letter{call_, word};
  mailbox_.send(to, &letter, sizeof letter);
}

std::optional<Words::Word> Words::next() {
  used_ = true;
  if (const auto kept = next_kept()) return kept;
  if (questions_left_ > 0) {
    --questions_left_;
    return std::nullopt;
  }
  while (const auto envelope = mailbox_.receive()) {
    const auto letter = envelope->as<Letter>();
    if (!letter || letter->call < call_) continue;
    if (letter->call == call_) return Word{envelope->from, letter->word};
    kept_.push_back({envelope->from, *letter});
  }
  questions_left_ = kLookEvery - 1;
  return std::nullopt;
}

/// Of those that came in earlier calls.
std::optional<Words::Word> Words::next_kept() {
  for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
    if (kept->letter.call != call_) continue;
    const Word word{kept->from, kept->letter.word};
    kept_.erase(kept);
    return word;
  }
  return std::nullopt;
}

}  // namespace latecomer
