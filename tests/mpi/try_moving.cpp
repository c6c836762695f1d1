#include "try_moving.hpp"

#include <numeric>
#include <thread>

#include "base/reproducible.hpp"
#include "latecomer/latecomer_mpi.h"

namespace latecomer::testing {
namespace {

using Numbers = std::vector<int>;
constexpr int kUntouched = -7;

/// A datatype of ints: how many one element has, and how far numbers are apart.
struct Form {
  MPI_Datatype type = MPI_INT;
  Count numbers = 1;
  Count spacing = 1;

  [[nodiscard]] Numbers spread(const Numbers& given) const {
    Numbers memory(given.size() * static_cast<std::size_t>(spacing), kUntouched);
    for (std::size_t i = 0; i < given.size(); ++i) {
      memory[i * static_cast<std::size_t>(spacing)] = given[i];
    }
    return memory;
  }
};

class Forms {
 public:
  Forms() {
    MPI_Type_contiguous(2, MPI_INT, &pair_);
    MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &apart_);
    MPI_Type_commit(&pair_);
    MPI_Type_commit(&apart_);
  }
  ~Forms() {
    MPI_Type_free(&pair_);
    MPI_Type_free(&apart_);
  }
  /// One that `count` numbers are a whole number of elements of.
  [[nodiscard]] Form any(Count count, Random& random) const {
    switch (random.below(3)) {
      case 0:
        return {MPI_INT, 1, 1};
      case 1:
        return {apart_, 1, 3};
      default:
        return count % 2 == 0 ? Form{pair_, 2, 1} : Form{};
    }
  }
  [[nodiscard]] Form apart() const { return {apart_, 1, 3}; }

 private:
  MPI_Datatype pair_ = MPI_DATATYPE_NULL;
  MPI_Datatype apart_ = MPI_DATATYPE_NULL;
};

Numbers part_of(const Moving& moving, std::uint64_t seed, int rank) {
  Random random(seed + 1000 * static_cast<std::uint64_t>(rank));
  Numbers numbers(static_cast<std::size_t>(moving.count + (moving.uneven ? rank : 0)));
  for (int& number : numbers) number = static_cast<int>(random.below(1 << 30));
  return numbers;
}

Numbers all_parts(const Moving& moving, std::uint64_t seed, int ranks) {
  Numbers all;
  for (int rank = 0; rank < ranks; ++rank) {
    const Numbers part = part_of(moving, seed, rank);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

/// One rank's part in a call: its data before, and the expected data after.
class MovingTrial {
 public:
  MovingTrial(MPI_Comm comm, const Moving& moving, std::uint64_t seed)
      : comm_(comm), moving_(moving), seed_(seed) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
    Random own(seed + 77 * static_cast<std::uint64_t>(rank_));
    const Count sent = moving.count + (moving.uneven ? rank_ : 0);
    sends_ = forms_.any(sent, own);
    // Parts of odd lengths, and places between them, are told of by single numbers.
    receives_ = moving.uneven ? (own.below(2) == 0 ? Form{} : forms_.apart())
                              : forms_.any(moving.count, own);
  }

  void run(const std::string& about) {
    set_up();
    const Numbers before = send_;
    if (moving_.sleep > 0) {
      std::this_thread::sleep_for(std::chrono::duration<double>(moving_.sleep));
    }
    const int code = call();
    const std::string text = about + ", " + std::string(to_string(moving_.collective)) +
                             ", count " + std::to_string(moving_.count) + ", root " +
                             std::to_string(moving_.root) + (moving_.in_place ? ", in place" : "") +
                             (moving_.uneven ? ", uneven" : "") + ", seed " + std::to_string(seed_);
    CHECK_TEXT(code == MPI_SUCCESS, text + ": code " + std::to_string(code));
    CHECK_TEXT(send_ == before, text + ": the send buffer changed");
    CHECK_TEXT(receive_ == right_, text + ": wrong result");
  }

 private:
  [[nodiscard]] bool root() const { return rank_ == moving_.root; }
  [[nodiscard]] Numbers own() const { return part_of(moving_, seed_, rank_); }
  [[nodiscard]] Numbers all() const { return all_parts(moving_, seed_, ranks_); }

  void set_up() {
    switch (moving_.collective) {
      case Collective::bcast:
        right_ = receives_.spread(part_of(moving_, seed_, moving_.root));
        receive_ = root() ? right_ : blank(right_);
        break;
      case Collective::scatter:
        if (root()) send_ = sends_.spread(all());
        right_ = receives_.spread(own());
        receive_ = blank(right_);
        if (moving_.in_place && root()) right_ = receive_;
        break;
      case Collective::gather:
      case Collective::allgather:
        set_up_gathering();
        break;
      default:
        break;
    }
  }
  void set_up_gathering() {
    send_ = sends_.spread(own());
    const bool gets = moving_.collective == Collective::allgather || root();
    if (!gets) return;
    right_ = moving_.uneven ? placed() : receives_.spread(all());
    receive_ = blank(right_);
    if (!moving_.in_place) return;
    const Count begin =
        receives_.spacing * (moving_.uneven ? displs()[rank_] : rank_ * moving_.count);
    const Numbers mine = receives_.spread(own());
    std::copy(mine.begin(), mine.end(), receive_.begin() + begin);
  }
  static Numbers blank(const Numbers& like) { return Numbers(like.size(), kUntouched); }

  // Uneven parts lie in the opposite order, with a hole of one element between them.
  [[nodiscard]] std::vector<int> counts() const {
    std::vector<int> all(static_cast<std::size_t>(ranks_));
    for (int rank = 0; rank < ranks_; ++rank) all[rank] = static_cast<int>(moving_.count) + rank;
    return all;
  }
  [[nodiscard]] std::vector<int> displs() const {
    std::vector<int> all(static_cast<std::size_t>(ranks_));
    int next = 0;
    for (int rank = ranks_ - 1; rank >= 0; --rank) {
      all[rank] = next;
      next += counts()[rank] + (seed_ % 2 == 0 ? 1 : 0);
    }
    return all;
  }
  [[nodiscard]] Numbers placed() const {
    const int end = displs()[0] + counts()[0];
    Numbers memory(static_cast<std::size_t>(end * receives_.spacing), kUntouched);
    for (int rank = 0; rank < ranks_; ++rank) {
      const Numbers part = receives_.spread(part_of(moving_, seed_, rank));
      std::copy(part.begin(), part.end(), memory.begin() + displs()[rank] * receives_.spacing);
    }
    return memory;
  }

  int call() {
    const int sent = static_cast<int>(static_cast<Count>(own().size()) / sends_.numbers);
    const int received = static_cast<int>(moving_.count / receives_.numbers);
    const bool aliased =
        moving_.in_place && (moving_.collective == Collective::allgather || root());
    const void* const from = aliased ? MPI_IN_PLACE : send_.data();
    switch (moving_.collective) {
      case Collective::bcast:
        return latecomer_bcast(receive_.data(), received, receives_.type, moving_.root, comm_);
      case Collective::scatter:
        return latecomer_scatter(send_.data(), sent, sends_.type,
                                 aliased ? MPI_IN_PLACE : receive_.data(), received, receives_.type,
                                 moving_.root, comm_);
      case Collective::gather:
        return latecomer_gather(from, sent, sends_.type, receive_.data(), received, receives_.type,
                                moving_.root, comm_);
      default:
        break;
    }
    if (moving_.uneven) {
      return latecomer_allgatherv(from, sent, sends_.type, receive_.data(), counts().data(),
                                  displs().data(), receives_.type, comm_);
    }
    return latecomer_allgather(from, sent, sends_.type, receive_.data(), received, receives_.type,
                               comm_);
  }

  MPI_Comm comm_;
  Moving moving_;
  std::uint64_t seed_;
  int rank_ = 0;
  int ranks_ = 1;
  Forms forms_;
  Form sends_, receives_;
  Numbers send_, receive_, right_;
};

}  // namespace

void try_moving(MPI_Comm comm, const Moving& moving, std::uint64_t seed, const std::string& about) {
  MovingTrial(comm, moving, seed).run(about);
}

}  // namespace latecomer::testing
