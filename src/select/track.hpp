// How a candidate did for one kind of call: what its calls took, against what was predicted.
#pragma once

#include <cstdint>
#include <deque>

namespace latecomer {

class Track {
 public:
  /// It carried out call number `call`.
  void use(std::uint64_t call);
  /// A call of it took `ratio` times what was predicted; `usual` is what others take.
  void learn(double ratio, double usual);

  [[nodiscard]] std::uint64_t uses() const { return uses_; }
  [[nodiscard]] bool known() const { return !ratios_.empty(); }
  /// The lower median of the last few; of `doubts` ratios as usual before the first of its own.
  [[nodiscard]] double factor(double usual, int doubts) const;
  /// The best of the last few. Only if known.
  [[nodiscard]] double best() const;
  /// Whether it has not been used for so long that things may have changed: longer each time that
  /// it was tried again in vain.
  [[nodiscard]] bool forgotten(std::uint64_t call) const;

 private:
  static constexpr std::size_t kWindow = 5;
  static constexpr std::uint64_t kFirstPause = 50;
  static constexpr std::uint64_t kLongestPause = 1600;

  std::deque<double> ratios_;  // newest last
  std::uint64_t uses_ = 0;
  std::uint64_t last_use_ = 0;
  std::uint64_t pause_ = kFirstPause;
};

}  // namespace latecomer
