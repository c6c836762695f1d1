// Where our messages between the ranks of a communicator go: an MPI communicator that the program
// does not use, the ranks' places in it, and tags that no other link of theirs has there.
#pragma once

#include <algorithm>
#include <climits>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/types.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

/// Some ranks of an MPI communicator, numbered anew.
class Members {
 public:
  /// `places[r]`: the place of rank r.
  explicit Members(std::vector<int> places)
      : places_(std::move(places)), ascending_(places_.size()) {
    std::iota(ascending_.begin(), ascending_.end(), 0);
    std::sort(ascending_.begin(), ascending_.end(),
              [this](Rank a, Rank b) { return place(a) < place(b); });
  }

  [[nodiscard]] Rank count() const { return static_cast<Rank>(places_.size()); }
  [[nodiscard]] int place(Rank rank) const { return places_[static_cast<std::size_t>(rank)]; }
  /// The rank at a place, which is a member's.
  [[nodiscard]] Rank at(int place) const {
    return *std::lower_bound(ascending_.begin(), ascending_.end(), place,
                             [this](Rank rank, int sought) { return this->place(rank) < sought; });
  }

 private:
  std::vector<int> places_;
  std::vector<Rank> ascending_;  // the ranks, by their places
};

/// The number of tags of a communicator. Open MPI 4.1 has the attribute for MPI_COMM_WORLD only,
/// which programs with sessions lack.
[[nodiscard]] inline int tags_of(MPI_Comm comm) {
  constexpr int kLeast = 32767;  // the largest tag that MPI guarantees
  int* largest = nullptr;
  int found = 0;
  PMPI_Comm_get_attr(comm, MPI_TAG_UB, static_cast<void*>(&largest), &found);
  int has_world = 0;
  if (found == 0) PMPI_Initialized(&has_world);
  if (has_world != 0) {
    PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&largest), &found);
  }
  return std::min(found != 0 ? *largest : kLeast, INT_MAX - 1) + 1;
}

class Link {
 public:
  /// All ranks of the communicator, which returns errors, and all its tags.
  // NOLINTNEXTLINE(google-explicit-constructor): a communicator of its own is a link
  Link(MPI_Comm comm) : comm_(comm), tags_(tags_of(comm)) {
    PMPI_Comm_size(comm, &ranks_);
    PMPI_Comm_rank(comm, &me_);
  }
  /// Some ranks of a communicator that other links use too: tags from `first_tag` on.
  Link(MPI_Comm comm, std::shared_ptr<const Members> members, Rank me, int first_tag, int tags)
      : comm_(comm),
        members_(std::move(members)),
        me_(me),
        ranks_(members_->count()),
        first_tag_(first_tag),
        tags_(tags) {}

  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] Rank me() const { return me_; }
  [[nodiscard]] Rank ranks() const { return ranks_; }
  /// A rank's place in the MPI communicator.
  [[nodiscard]] int place(Rank rank) const { return members_ ? members_->place(rank) : rank; }
  /// The rank at a place.
  [[nodiscard]] Rank at(int place) const { return members_ ? members_->at(place) : place; }
  /// The number of tags, and one of them there.
  [[nodiscard]] int tags() const { return tags_; }
  [[nodiscard]] int tag(int number) const { return first_tag_ + number; }

 private:
  MPI_Comm comm_;
  std::shared_ptr<const Members> members_;  // null: all ranks, in their order
  Rank me_ = 0;
  Rank ranks_ = 0;
  int first_tag_ = 0;
  int tags_ = 0;
};

// Tags of messages. Matching relies on the order of posting. Tags keep messages of different plans
// apart, so that none lands in a buffer that was not meant for it; only first messages, which carry
// the plan's hash, match whatever the plan. A tag is a number below link.tags().
class Tags {
 public:
  // Messages outside of calls, and control messages, which name their call.
  static constexpr int kFailures = 0;  // failure_detector.hpp
  static constexpr int kClock = 1;     // clock_sync.hpp
  static constexpr int kSettings = 2;  // settings.hpp
  static constexpr int kPlans = 3;     // progress/plan_channel.hpp
  static constexpr int kControl = 4;   // mailbox.hpp
  static constexpr int kReview = 5;    // execute.cpp
  static constexpr int kMemory = 6;    // node_sharing.hpp
  static constexpr int kBlocks = 7;    // block_exchange.hpp

  explicit Tags(const Link& link)
      : numbers_(static_cast<std::uint64_t>(link.tags() - kFirsts - kNumberOfFirsts)) {}

  /// First messages have numbers of their own: a receive of one may be posted after those of later
  /// messages, which it must not match.
  [[nodiscard]] static int first(std::uint64_t call) {
    return kFirsts + static_cast<int>(call % kNumberOfFirsts);
  }
  /// The tag of the n-th message of a pair and direction; the first one has n = 0.
  [[nodiscard]] int of(std::uint64_t call, std::uint64_t plan_hash, std::uint32_t n) const {
    const std::uint64_t number = call * kStride + n + plan_hash % numbers_;
    return kFirsts + kNumberOfFirsts + static_cast<int>(number % numbers_);
  }

 private:
  static constexpr int kFirsts = kBlocks + 1;
  static constexpr int kNumberOfFirsts = 512;
  static constexpr std::uint64_t kStride = 1021;

  std::uint64_t numbers_;
};

}  // namespace latecomer
