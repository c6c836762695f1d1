#include "dropin/handshake.hpp"

#include <algorithm>
#include <bit>
#include <ctime>
#include <deque>

#include "runtime/connection/clocks/clocks.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {
namespace {

/// The same on every rank of every version.
struct Message {
  static constexpr std::uint64_t kMagic = 0x6c617465636f6d65U;

  std::uint64_t magic = kMagic;
  std::uint64_t agrees = 1;     // 0: a rank is missing, or settings differ
  std::uint64_t missing = 0;    // one more than the least missing rank; 0: none
  std::uint64_t differing = 0;  // bits of the settings that differ
  std::array<std::uint64_t, kMaxSharedSettings> hashes{};
};
static_assert(sizeof(Message) == 128);

constexpr int kWords = sizeof(Message) / sizeof(std::uint64_t);

/// A message that stays: one that nobody receives may be under way until the end.
Message& kept_message() {
  static auto& all = *new std::deque<Message>;
  return all.emplace_back();
}

int largest_tag() {
  int* value = nullptr;
  int flag = 0;
  PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&value), &flag);
  return flag != 0 ? *value : 32767;
}

void sleep_briefly() {
  constexpr timespec kBrief = {0, 50'000};
  nanosleep(&kBrief, nullptr);
}

/// True if the request ended in time; it has ended or is given up afterwards.
bool ends(MPI_Request& request, Seconds deadline) {
  int done = 0;
  while (done == 0) {
    PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return true;
    if (monotonic_clock() > deadline) break;
    sleep_briefly();
  }
  return false;
}

void give_up_receive(MPI_Request& request) {
  PMPI_Cancel(&request);
  PMPI_Wait(&request, MPI_STATUS_IGNORE);
}

class Handshake {
 public:
  Handshake(const std::vector<SharedSetting>& settings, Seconds patience)
      : settings_(settings), patience_(patience), tag_(largest_tag()) {
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    const std::size_t count = std::min(settings.size(), kMaxSharedSettings);
    for (std::size_t i = 0; i < count; ++i) mine().hashes[i] = settings[i].hash;
    for (int step = 1; step < ranks_ && (rank_ & step) == 0; step *= 2) {
      if (rank_ + step < ranks_) children_.push_back(rank_ + step);
    }
  }

  Answer run() {
    const Seconds begin = monotonic_clock();
    hear_children(begin);
    if (rank_ != 0 && !ask_parent(begin)) {
      const bool reports = parent() == 0 && rank_ == 1;
      return {false, reports ? describe_missing(0) : ""};
    }
    tell_children();
    if (mine().agrees != 0) return {true, ""};
    return {false, rank_ == 0 ? describe() : ""};
  }

 private:
  [[nodiscard]] Message& mine() { return *mine_; }
  [[nodiscard]] int parent() const { return rank_ & (rank_ - 1); }
  /// Ranks between the given one and the leaf that is farthest from it.
  [[nodiscard]] int height(int rank) const {
    const int step = rank == 0 ? ranks_ : std::min(rank & -rank, ranks_ - rank);
    return std::bit_width(static_cast<unsigned>(step - 1));
  }

  void hear_children(Seconds begin) {
    std::vector<Message> heard(children_.size());
    std::vector<MPI_Request> requests(children_.size());
    for (std::size_t i = 0; i < children_.size(); ++i) {
      PMPI_Irecv(&heard[i], kWords, MPI_UINT64_T, children_[i], tag_, MPI_COMM_WORLD, &requests[i]);
    }
    std::vector<int> there;
    for (std::size_t i = 0; i < children_.size(); ++i) {
      if (ends(requests[i], begin + patience_ * (height(children_[i]) + 1))) {
        there.push_back(children_[i]);
        add(heard[i]);
      } else {
        give_up_receive(requests[i]);
        miss(children_[i]);
      }
    }
    children_ = there;
  }
  void miss(int rank) {
    mine().agrees = 0;
    const auto number = static_cast<std::uint64_t>(rank) + 1;
    if (mine().missing == 0 || number < mine().missing) mine().missing = number;
  }
  void add(const Message& other) {
    if (other.missing != 0) miss(static_cast<int>(other.missing - 1));
    mine().differing |= other.differing;
    for (std::size_t i = 0; i < kMaxSharedSettings; ++i) {
      if (other.hashes[i] != mine().hashes[i]) mine().differing |= std::uint64_t{1} << i;
    }
    if (other.magic != Message::kMagic) mine().differing |= 1;
    if (other.agrees == 0 || mine().differing != 0) mine().agrees = 0;
  }
  void send(int to) {
    MPI_Request request = MPI_REQUEST_NULL;
    PMPI_Isend(mine_, kWords, MPI_UINT64_T, to, tag_, MPI_COMM_WORLD, &request);
    if (!ends(request, monotonic_clock() + patience_)) PMPI_Request_free(&request);
  }
  /// Sends this rank's part up, and receives the answer for all. Returns false if there is none.
  bool ask_parent(Seconds begin) {
    Message answer;
    MPI_Request request = MPI_REQUEST_NULL;
    PMPI_Irecv(&answer, kWords, MPI_UINT64_T, parent(), tag_, MPI_COMM_WORLD, &request);
    send(parent());
    // Rank 0 may have to wait for its farthest ranks first, and each rank between us as long.
    const bool answered = ends(request, begin + patience_ * (height(0) + 2));
    if (!answered) {
      give_up_receive(request);
      return false;
    }
    mine_ = &kept_message();
    *mine_ = answer;
    return true;
  }
  void tell_children() {
    for (const int child : children_) send(child);
  }

  [[nodiscard]] std::string describe_missing(int rank) const {
    return "rank " + std::to_string(rank) + " of " + std::to_string(ranks_) +
           " does not have the drop-in library (LD_PRELOAD reaches all ranks with mpirun -x "
           "LD_PRELOAD, srun --export=ALL, or latecomer run)";
  }
  [[nodiscard]] std::string describe() {
    if (mine().missing != 0) return describe_missing(static_cast<int>(mine().missing - 1));
    std::string names;
    for (std::size_t i = 0; i < settings_.size(); ++i) {
      if ((mine().differing >> i & 1) == 0) continue;
      names += (names.empty() ? "" : ", ") + settings_[i].name;
      if (i == 0) break;  // another version's settings may be others
    }
    return "settings differ between ranks: " + names;
  }

  const std::vector<SharedSetting>& settings_;
  Seconds patience_;
  int tag_;
  int rank_ = 0;
  int ranks_ = 1;
  Message* mine_ = &kept_message();
  std::vector<int> children_;  // those that have the library, once they were heard
};

}  // namespace

Answer shake_hands(const std::vector<SharedSetting>& settings, Seconds patience) {
  return Handshake(settings, patience).run();
}

}  // namespace latecomer
