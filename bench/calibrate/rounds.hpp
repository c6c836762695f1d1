// A round measures every pattern once at every size, in an order of its own, so that noise hits all
// patterns and sizes alike.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "messages.hpp"
#include "team.hpp"

namespace bench {

struct Sample {
  std::string pattern;
  std::int64_t bytes = 0;
  double seconds = 0;  // of one message, or of combining; mean over the ranks that measured
};

class Rounds {
 public:
  /// Collective, as is the end of the object.
  Rounds(const Team& team, Messages& messages, std::vector<std::int64_t> sizes, std::int64_t eager);
  ~Rounds();
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  /// The samples of a round, on rank 0. Messages up to `most` bytes. Collective.
  std::vector<Sample> measure(int round, std::int64_t most);

 private:
  using Measure = std::function<std::optional<double>(std::int64_t bytes)>;

  void section(const char* pattern, const std::vector<std::int64_t>& sizes, const Measure& measure);
  void exchanges(const char* pattern, const std::vector<std::int64_t>& sizes, First first);
  [[nodiscard]] int rested_trips(std::int64_t bytes) const;
  void between_two(int round, const std::vector<std::int64_t>& sizes);
  void between_all(const std::vector<std::int64_t>& sizes);
  void combining();

  const Team& team_;
  Messages& messages_;
  std::vector<std::int64_t> sizes_;
  std::int64_t eager_;
  MPI_Comm even_ = MPI_COMM_NULL;  // members up to a power of two
  std::vector<float> left_, right_;
  std::vector<Sample> found_;
};

}  // namespace bench
