// Rules undefined, index, once, order: follows the content of every element of every buffer through
// an execution, without computing anything. Elements that are alike share one entry.
#pragma once

#include <array>
#include <vector>

#include "verify/execution.hpp"
#include "verify/expressions.hpp"
#include "verify/happens_before.hpp"
#include "verify/interval_map.hpp"

namespace latecomer::verifier {

/// The content of a stretch of a slice: elements `first`, `first` + 1, ... of the vector.
struct Piece {
  Count offset = 0;  // in the slice
  Count count = 0;
  bool defined = false;
  Expression expression = 0;
  Evaluation evaluation = 0;
  Count first = 0;
};

/// The content of the buffers of all ranks.
class Values {
 public:
  /// Sets the content to the collective's precondition.
  Values(const Problem& problem, Programs programs);

  /// Executes one operation; returns the rule that it breaks, if any.
  [[nodiscard]] Finding apply(Programs programs, const Messages& messages, HappensBefore& order,
                              Step step);

  [[nodiscard]] std::vector<Piece> read(Rank rank, const Slice& slice) const;
  void write(Rank rank, const Slice& slice, const std::vector<Piece>& pieces);

  [[nodiscard]] Expressions& expressions() { return expressions_; }
  [[nodiscard]] const Expressions& expressions() const { return expressions_; }
  [[nodiscard]] Evaluations& evaluations() { return evaluations_; }
  /// "elements 4 to 7 of ranks (0 1)"
  [[nodiscard]] std::string to_text(const Piece& piece) const;

 private:
  /// The element at position p is element p + shift of the vector.
  struct Held {
    Expression expression = 0;
    Evaluation evaluation = 0;
    Count shift = 0;
    bool operator==(const Held&) const = default;
  };
  using Contents = IntervalMap<Held>;

  Contents& contents(Rank rank, Buffer buffer) {
    return buffer == Buffer::node ? nodes_[node_of_[rank]] : held_[rank][static_cast<int>(buffer)];
  }
  [[nodiscard]] Finding accumulate(const Program& program, HappensBefore& order, Step step);

  Expressions expressions_;
  Evaluations evaluations_;
  std::vector<std::array<Contents, kBuffers>> held_;  // per rank, but for the nodes' buffers
  std::vector<Rank> node_of_;                         // per rank
  std::vector<Contents> nodes_;                       // per node, its buffer
  std::vector<std::vector<Step>> accumulated_;        // per flag, the last accumulate, if any
};

/// Carries out all steps of an execution.
[[nodiscard]] Finding check_values(Programs programs, const Messages& messages,
                                   const Execution& execution, HappensBefore& order,
                                   Values& values);

// Rules on the ranks' elements at the end: index (every element at its place), delivery,
// same-tree, same-slices.

[[nodiscard]] Finding check_places(const Problem& problem, Programs programs, const Values& values);
[[nodiscard]] Finding check_delivery(const Problem& problem, Programs programs,
                                     const Values& values);
[[nodiscard]] Finding check_same_tree(const Problem& problem, Programs programs,
                                      const Values& values);
[[nodiscard]] Finding check_same_slices(const Problem& problem, Programs programs,
                                        const Values& values);

}  // namespace latecomer::verifier
