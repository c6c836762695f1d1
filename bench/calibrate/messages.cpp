#include "messages.hpp"

#include <algorithm>

#include "../clock.hpp"

namespace bench {
namespace {

constexpr int kTag = 1, kGo = 2;
constexpr std::int64_t kFlow = 1 << 20;  // bytes that make a pattern flow evenly
constexpr double kPause = 0.010;         // seconds; longer than links need to forget what they sent
constexpr double kPatience = 0.010;      // seconds, besides the time that the message takes

int times(std::int64_t bytes, int least, int most) {
  return static_cast<int>(std::clamp<std::int64_t>(kFlow / bytes, least, most));
}

/// Seconds of one step, after steps that are not timed.
template <class Step>
double timed(int untimed, int steps, Step&& step) {
  for (int i = 0; i < untimed; ++i) step(i);
  const double start = now();
  for (int i = 0; i < steps; ++i) step(untimed + i);
  return (now() - start) / steps;
}

int place_in(MPI_Comm comm) {
  int place = 0;
  MPI_Comm_rank(comm, &place);
  return place;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

int levels_of(int ranks) {
  int levels = 0;
  while ((2 << levels) <= ranks) ++levels;
  return std::max(levels, 1);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

int power_below(int number) {
  int power = 1;
  while (power <= number / 2) power *= 2;
  return power;
}

void Messages::round_trip(MPI_Comm comm, int peer, bool first, std::int64_t bytes) {
  const auto send = [&] {
    MPI_Send(out_.data(), static_cast<int>(bytes), MPI_BYTE, peer, kTag, comm);
  };
  if (first) send();
  MPI_Recv(in_.data(), static_cast<int>(bytes), MPI_BYTE, peer, kTag, comm, MPI_STATUS_IGNORE);
  if (!first) send();
}

double Messages::pair(MPI_Comm comm, int peer, bool first, std::int64_t bytes) {
  const auto trip = [&](int) { round_trip(comm, peer, first, bytes); };
  return timed(times(bytes, 0, 4), times(bytes, 1, 32), trip) / 2;
}

double Messages::rested(MPI_Comm comm, int peer, bool first, std::int64_t bytes, int trips) {
  std::vector<double> found;
  for (int i = 0; i < trips; ++i) {
    if (first) sleep_until(now() + kPause);
    const double start = now();
    round_trip(comm, peer, first, bytes);
    found.push_back((now() - start) / 2);
  }
  return median(found);
}

void Messages::step(MPI_Comm comm, int to, int from, std::int64_t bytes, First first) {
  MPI_Request requests[2];
  const auto count = static_cast<int>(bytes);
  if (first == First::receive) {
    MPI_Irecv(in_.data(), count, MPI_BYTE, from, kTag, comm, &requests[0]);
    MPI_Isend(out_.data(), count, MPI_BYTE, to, kTag, comm, &requests[1]);
  } else {
    MPI_Isend(out_.data(), count, MPI_BYTE, to, kTag, comm, &requests[1]);
    MPI_Irecv(in_.data(), count, MPI_BYTE, from, kTag, comm, &requests[0]);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

double Messages::ring(MPI_Comm comm, std::int64_t bytes) {
  const int me = place_in(comm);
  const int size = size_of(comm);
  MPI_Barrier(comm);
  return timed(times(bytes, 1, 16), times(bytes, 2, 64), [&](int) {
    step(comm, (me + 1) % size, (me + size - 1) % size, bytes, First::send);
  });
}

double Messages::exchange(MPI_Comm comm, std::int64_t bytes, First first) {
  const int me = place_in(comm);
  const int levels = levels_of(size_of(comm));
  const int rounds = (times(bytes, 2, 64) + levels - 1) / levels;
  MPI_Barrier(comm);
  return timed(times(bytes, 1, 16), rounds * levels, [&](int i) {
    const int peer = me ^ (1 << (i % levels));
    step(comm, peer, peer, bytes, first);
  });
}

bool Messages::ends_unreceived(MPI_Comm comm, int peer, bool first, std::int64_t bytes) {
  const double start = now();
  round_trip(comm, peer, first, bytes);
  int ended = 0;
  if (first) {
    const double end = now() + kPatience + 4 * (now() - start);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(out_.data(), static_cast<int>(bytes), MPI_BYTE, peer, kTag, comm, &request);
    while (ended == 0 && now() < end) MPI_Test(&request, &ended, MPI_STATUS_IGNORE);
    MPI_Send(&ended, 1, MPI_INT, peer, kGo, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(&ended, 1, MPI_INT, peer, kGo, comm, MPI_STATUS_IGNORE);
    MPI_Recv(in_.data(), static_cast<int>(bytes), MPI_BYTE, peer, kTag, comm, MPI_STATUS_IGNORE);
  }
  return ended != 0;
}

double Messages::part_sending(MPI_Comm comm, int peer, bool first, std::int64_t bytes, int count) {
  const auto length = static_cast<int>(bytes);
  if (!first) {
    for (int i = 0; i < count; ++i)
      MPI_Recv(in_.data(), length, MPI_BYTE, peer, kTag, comm, MPI_STATUS_IGNORE);
    double part = 0;
    MPI_Sendrecv(nullptr, 0, MPI_BYTE, peer, kGo, &part, 1, MPI_DOUBLE, peer, kGo, comm,
                 MPI_STATUS_IGNORE);
    return part;
  }
  sleep_until(now() + kPause);
  const double start = now();
  std::vector<MPI_Request> requests(static_cast<std::size_t>(count), MPI_REQUEST_NULL);
  for (MPI_Request& request : requests)
    MPI_Isend(out_.data(), length, MPI_BYTE, peer, kTag, comm, &request);
  MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
  const double sent = now() - start;
  MPI_Recv(nullptr, 0, MPI_BYTE, peer, kGo, comm, MPI_STATUS_IGNORE);
  const double part = sent / (now() - start);
  MPI_Send(&part, 1, MPI_DOUBLE, peer, kGo, comm);
  return part;
}

}  // namespace bench
