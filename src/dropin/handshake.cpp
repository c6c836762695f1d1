#include "dropin/handshake.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <ctime>
#include <deque>
#include <optional>

#include "agreement/meeting_rank.hpp"
#include "runtime/connection/clocks/clocks.hpp"
#include "runtime/report/log.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {
namespace {

/// The settings of the ranks that have met so far.
struct Shared {
  std::uint64_t differing = 0;  // bits of the settings that differ
  std::array<std::uint64_t, kMaxSharedSettings> hashes{};
};

/// A message, of the same form in every version.
struct Greeting {
  static constexpr std::uint64_t kMagic = 0x6c617465636f6d65U;

  std::uint64_t magic = kMagic;
  MeetingRank::Step step = {};
  std::uint64_t met = 0;
  std::uint64_t missing = 0;  // one more than a rank that did not come; 0: none
  Shared shared;
};
static_assert(sizeof(Greeting) == 136);

constexpr int kWords = sizeof(Greeting) / sizeof(std::uint64_t);

Told bytes_of(const Shared& shared) {
  Told told(sizeof shared);
  std::memcpy(told.data(), &shared, sizeof shared);
  return told;
}

Shared shared_of(const Told& told) {
  Shared shared;
  if (told.size() == sizeof shared) std::memcpy(&shared, told.data(), sizeof shared);
  return shared;
}

void merge(Told& all, const Told& theirs) {
  Shared united = shared_of(all);
  const Shared other = shared_of(theirs);
  united.differing |= other.differing;
  for (std::size_t i = 0; i < kMaxSharedSettings; ++i) {
    if (other.hashes[i] != united.hashes[i]) united.differing |= std::uint64_t{1} << i;
  }
  all = bytes_of(united);
}

Greeting greeting_of(const MeetingRank::Message& message) {
  Greeting greeting;
  greeting.step = message.step;
  greeting.met = static_cast<std::uint64_t>(message.met);
  if (message.missing) greeting.missing = static_cast<std::uint64_t>(*message.missing) + 1;
  greeting.shared = shared_of(message.told);
  return greeting;
}

MeetingRank::Message message_of(const Greeting& greeting) {
  MeetingRank::Message message{greeting.step, static_cast<Met>(greeting.met), greeting.magic,
                               bytes_of(greeting.shared)};
  if (greeting.missing != 0) message.missing = static_cast<Rank>(greeting.missing - 1);
  return message;
}

/// A message that stays: one that nobody receives may be under way until the end.
Greeting& kept_greeting(const Greeting& greeting) {
  static auto& all = *new std::deque<Greeting>;
  return all.emplace_back(greeting);
}

int largest_tag() {
  int* value = nullptr;
  int flag = 0;
  PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&value), &flag);
  return flag != 0 ? *value : 32767;
}

/// True if the request ended in time.
bool ends(MPI_Request& request, Seconds deadline) {
  constexpr timespec kBrief = {0, 50'000};
  while (true) {
    int done = 0;
    PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return true;
    if (monotonic_clock() > deadline) return false;
    nanosleep(&kBrief, nullptr);
  }
}

class Handshake {
 public:
  Handshake(const std::vector<SharedSetting>& settings, Seconds patience)
      : settings_(settings), patience_(patience), tag_(largest_tag()) {
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }

  Answer run() {
    Shared mine;
    const std::size_t count = std::min(settings_.size(), kMaxSharedSettings);
    for (std::size_t i = 0; i < count; ++i) mine.hashes[i] = settings_[i].hash;
    MeetingRank me(ranks_, rank_, Greeting::kMagic, patience_, bytes_of(mine), merge,
                   MeetingRank::Late::is_left);
    act(me.come());
    while (!me.over()) {
      if (me.asked()) {
        act(me.answer(shared_of(me.told()).differing == 0, over()));
      } else {
        const auto message = hear(me.awaited());
        act(message ? me.hear(*message, over()) : me.miss(over()));
      }
    }
    return {me.met() == Met::agreed, problem(me)};
  }

 private:
  [[nodiscard]] Seconds over() const { return monotonic_clock() - begin_; }

  std::optional<MeetingRank::Message> hear(const MeetingRank::Awaited& awaited) const {
    Greeting greeting;
    MPI_Request request = MPI_REQUEST_NULL;
    PMPI_Irecv(&greeting, kWords, MPI_UINT64_T, awaited.from, tag_, MPI_COMM_WORLD, &request);
    if (ends(request, begin_ + awaited.until)) return message_of(greeting);
    MPI_Status status;
    int cancelled = 0;
    PMPI_Cancel(&request);
    PMPI_Wait(&request, &status);
    PMPI_Test_cancelled(&status, &cancelled);
    if (cancelled == 0) return message_of(greeting);  // it came at the last moment
    return std::nullopt;
  }
  void act(const MeetingRank::Actions& actions) const {
    for (const auto& [to, message] : actions.tell) send(to, greeting_of(message));
    if (actions.awaited) {
      log_line("rank " + std::to_string(*actions.awaited) + " of " + std::to_string(ranks_) +
               " came out of MPI_Init with the drop-in library, and has not answered within " +
               std::to_string(std::lround(over())) + " s: this rank waits for it");
    }
  }
  void send(int to, const Greeting& greeting) const {
    Greeting& kept = kept_greeting(greeting);
    MPI_Request request = MPI_REQUEST_NULL;
    PMPI_Isend(&kept, kWords, MPI_UINT64_T, to, tag_, MPI_COMM_WORLD, &request);
    if (!ends(request, monotonic_clock() + patience_)) PMPI_Request_free(&request);
  }

  /// One rank has a text: rank 0, or rank 1 where that is missing.
  [[nodiscard]] std::string problem(const MeetingRank& me) const {
    if (me.met() == Met::agreed || rank_ > 1) return "";
    if (me.met() == Met::declined) return rank_ == 0 ? describe_differing(me) : "";
    if (!me.missing() || (rank_ == 1 && me.missing() != 0)) return "";
    return "rank " + std::to_string(*me.missing()) + " of " + std::to_string(ranks_) +
           " does not have the drop-in library, or left MPI_Init at quite another time (LD_PRELOAD "
           "reaches all ranks with mpirun -x LD_PRELOAD, srun --export=ALL, or latecomer run)";
  }
  [[nodiscard]] std::string describe_differing(const MeetingRank& me) const {
    const std::uint64_t differing = shared_of(me.told()).differing;
    std::string names;
    for (std::size_t i = 0; i < settings_.size(); ++i) {
      if ((differing >> i & 1) == 0) continue;
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
  Seconds begin_ = monotonic_clock();
};

}  // namespace

Answer shake_hands(const std::vector<SharedSetting>& settings, Seconds patience) {
  return Handshake(settings, patience).run();
}

void drop_greetings() {
  const int tag = largest_tag();
  while (true) {
    MPI_Status status;
    int found = 0;
    int words = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &found, &status);
    if (found != 0) PMPI_Get_count(&status, MPI_UINT64_T, &words);
    if (words != kWords) return;
    Greeting late;
    PMPI_Recv(&late, kWords, MPI_UINT64_T, status.MPI_SOURCE, tag, MPI_COMM_WORLD, &status);
  }
}

}  // namespace latecomer
