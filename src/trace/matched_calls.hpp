// The calls of a communicator, matched over its ranks' files. Times stay in the files, and are read
// from there for those calls that are looked at.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trace/rank_file.hpp"

namespace latecomer::trace {

/// The file of one of the communicator's ranks.
struct Part {
  std::shared_ptr<const RankFile> file;
  std::size_t comm = 0;                   // in the file
  std::shared_ptr<const Numbered> words;  // the trace's numbers of the file's texts
  std::int32_t nothing = 0;               // that of a text which the file lacks
};

/// How a rank's clock is set: linear between these times, constant outside.
struct ClockOffset {
  std::vector<double> times;    // seconds on the rank's own clock
  std::vector<double> offsets;  // seconds, as many
};

/// What is known of each call.
struct CallColumns {
  std::vector<std::int32_t> collective, op, site, algorithm;  // words, as the lowest rank has them
  std::vector<std::int64_t> bytes;                            // -1: not known
  std::vector<std::int32_t> element_bytes, root;              // -1: not known
  std::vector<std::int8_t> served;                            // failed: on some rank
  /// By how many seconds it was left before its last rank entered; of ranks that read one clock.
  std::vector<double> gap;
  std::vector<std::uint8_t> mixed;  // 1: it is another collective on some ranks
};

/// Calls that are another collective on lower ranks. The first one is the example.
struct Mixed {
  std::uint64_t count = 0;
  std::size_t call = 0;
  std::int32_t collective = 0;  // a word
  std::int32_t others = 0;      // that of the lowest rank
};

class MatchedCalls {
 public:
  /// `parts`: by the ranks' places in the communicator. Times are counted from `zero`, in
  /// nanoseconds. `overlapping`: those calls that another one completed.
  MatchedCalls(std::vector<Part> parts, bool overlapping, std::int64_t zero);

  /// The sequence numbers of the calls; a call's place here is its number below.
  [[nodiscard]] const std::vector<std::uint64_t>& sequence() const { return *sequence_; }

  /// Reads all calls once. `clocks`: of each part; ranks of equal ones read the same clock.
  /// `mixed`: one entry a part. Throws Error if a file cannot be read.
  [[nodiscard]] CallColumns match(std::span<const std::int64_t> clocks,
                                  std::vector<Mixed>& mixed) const;

  /// Sets the clock of a part; `start` is the time of the common clock that becomes 0.
  void set_clock(std::size_t part, ClockOffset offset, double start);
  /// Forgets when the ranks entered a call.
  void forget_arrivals(std::size_t call);
  /// Forgets all times of a part.
  void forget_part(std::size_t part);

  /// The times of some calls on some parts, in seconds: of shape (calls, parts). NaN: not known, as
  /// of all calls on a part below 0: a rank without a file.
  /// Throws Error if a file cannot be read, or for numbers of no call or part.
  void read(std::span<const std::int64_t> calls, std::span<const std::int64_t> parts,
            std::span<double> arrival, std::span<double> exit) const;

 private:
  class Reading;
  struct Own {
    Part part;
    Places place;  // of each call's record in the file; none: not made, or forgotten
    ClockOffset clock;
    double start = 0;
  };
  [[nodiscard]] double seconds(const Own& own, std::int64_t time) const;
  void match(std::size_t begin, std::size_t end, std::span<const std::size_t> clock_of,
             std::size_t clocks, CallColumns& into, std::vector<Mixed>& mixed) const;

  std::vector<Own> own_;
  std::int64_t zero_;
  Sequences sequence_;
  std::vector<std::uint8_t> forgotten_;  // of each call
};

}  // namespace latecomer::trace
