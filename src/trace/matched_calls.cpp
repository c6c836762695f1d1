#include "trace/matched_calls.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <mutex>
#include <set>
#include <string>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/threads.hpp"

namespace latecomer::trace {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};  // a rank that did not make the call
constexpr std::size_t kWindow = 1 << 12;            // records that are read at once ...
constexpr std::size_t kApart = 64;                  // ... of which so many are not asked for
constexpr std::size_t kWorthAThread = 1 << 14;      // records
constexpr std::size_t kCallsAtOnce = 1 << 11;       // that are matched
constexpr std::size_t kTile = 8;                    // columns, whose times fill a cache line
constexpr std::int32_t kUnknown = -1;
constexpr auto kFailed = static_cast<std::int8_t>(Served::failed);

const CallsOf& calls_of(const Part& part, bool overlapping) {
  const FileComm& comm = part.file->comms.at(part.comm);
  return overlapping ? comm.overlapping : comm.calls;
}

Sequences united(const std::vector<Part>& parts, bool overlapping) {
  std::set<Sequences> known;
  for (const Part& part : parts) known.insert(calls_of(part, overlapping).sequence);
  Sequences all;
  for (const Sequences& each : known) {
    if (!all) {
      all = each;
      continue;
    }
    const auto both = std::make_shared<std::vector<std::uint64_t>>();
    std::ranges::set_union(*all, *each, std::back_inserter(*both));
    all = both;
  }
  return all ? all : std::make_shared<const std::vector<std::uint64_t>>();
}

}  // namespace

/// Gives the records at these places of a file, read in as few pieces as their order allows:
/// `each(index of the place, record)`, in the order of the places.
class Records {
 public:
  template <class Each>
  void operator()(const std::string& path, std::span<const std::uint32_t> places, Each&& each) {
    const OwnDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) throw Error(path, meaning_of_error(errno), "a file that can be read");
    std::size_t begin = 0;
    std::size_t end = 0;  // of the records in the window
    for (std::size_t at = 0; at < places.size(); ++at) {
      const std::size_t place = places[at];
      if (place == kNone) continue;
      if (place < begin || place >= end) {
        begin = place;
        end = last_of(places.subspan(at)) + 1;
        read(path, file.get(), begin, end - begin);
      }
      each(at, window_[place - begin]);
    }
  }

 private:
  /// The last place that one window has room for.
  static std::size_t last_of(std::span<const std::uint32_t> places) {
    const std::size_t begin = places[0];
    std::size_t last = begin;
    for (const std::uint32_t place : places) {
      if (place == kNone) continue;
      if (place < last || place > last + kApart || place >= begin + kWindow) break;
      last = place;
    }
    return last;
  }

  void read(const std::string& path, int file, std::size_t begin, std::size_t count) {
    window_.resize(count);
    const int code =
        read_all(file, sizeof(Header) + begin * sizeof(Call), window_.data(), count * sizeof(Call));
    if (code == EIO) throw Error(path, "cut", "a file that does not change while it is read");
    if (code != 0) throw Error(path, meaning_of_error(code), "a file that can be read");
  }

  std::vector<Call> window_;
};

MatchedCalls::MatchedCalls(std::vector<Part> parts, bool overlapping, std::int64_t zero)
    : zero_(zero), sequence_(united(parts, overlapping)) {
  forgotten_.resize(sequence_->size());
  std::map<std::pair<Sequences, Places>, Places> spread;  // over all calls
  for (Part& part : parts) {
    const CallsOf& calls = calls_of(part, overlapping);
    Places& place = spread[{calls.sequence, calls.place}];
    if (!place && *calls.sequence == *sequence_) place = calls.place;
    if (!place) {
      const auto made = std::make_shared<std::vector<std::uint32_t>>(sequence_->size(), kNone);
      auto at = sequence_->begin();
      for (std::size_t i = 0; i < calls.place->size(); ++i) {
        at = std::lower_bound(at, sequence_->end(), (*calls.sequence)[i]);
        (*made)[static_cast<std::size_t>(at - sequence_->begin())] = (*calls.place)[i];
      }
      place = made;
    }
    own_.push_back({std::move(part), place, {}, 0});
  }
}

CallColumns MatchedCalls::match(std::span<const std::int64_t> clocks,
                                std::vector<Mixed>& mixed) const {
  if (clocks.size() != own_.size()) {
    throw Error("clocks", std::to_string(clocks.size()), std::to_string(own_.size()));
  }
  const std::size_t count = sequence_->size();
  CallColumns into;
  for (auto* const each :
       {&into.collective, &into.op, &into.site, &into.algorithm, &into.element_bytes, &into.root}) {
    each->assign(count, kUnknown);
  }
  into.bytes.assign(count, kUnknown);
  into.served.assign(count, kUnknown);
  into.gap.assign(count, -std::numeric_limits<double>::infinity());
  into.mixed.assign(count, 0);
  mixed.assign(own_.size(), {});
  std::map<std::int64_t, std::size_t> known;
  std::vector<std::size_t> clock_of;
  for (const std::int64_t clock : clocks) {
    clock_of.push_back(known.emplace(clock, known.size()).first->second);
  }
  std::mutex mutex;
  const std::size_t least = kWorthAThread / std::max<std::size_t>(own_.size(), 1) + 1;
  in_parallel(count, least, [&](std::size_t begin, std::size_t end) {
    std::vector<Mixed> here(own_.size());
    for (std::size_t at = begin; at < end; at += kCallsAtOnce) {
      match(at, std::min(at + kCallsAtOnce, end), clock_of, known.size(), into, here);
    }
    const std::scoped_lock lock(mutex);
    for (std::size_t part = 0; part < here.size(); ++part) {
      Mixed& all = mixed[part];
      const std::uint64_t sum = all.count + here[part].count;
      if (here[part].count > 0 && (all.count == 0 || here[part].call < all.call)) all = here[part];
      all.count = sum;
    }
  });
  return into;
}

void MatchedCalls::match(std::size_t begin, std::size_t end, std::span<const std::size_t> clock_of,
                         std::size_t clocks, CallColumns& into, std::vector<Mixed>& mixed) const {
  struct Range {
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    bool several = false;
  };
  const std::size_t count = end - begin;
  std::vector<Range> ranges(clocks * count);
  Records records;
  for (std::size_t part = 0; part < own_.size(); ++part) {
    const Own& own = own_[part];
    const auto word = [&own](std::uint32_t id) {
      const std::int32_t known = (*own.part.words)[id];
      return known == Numbered::kNone ? own.part.nothing : known;
    };
    Mixed& odd = mixed[part];
    const auto places = std::span(*own.place).subspan(begin, count);
    records(own.part.file->path, places, [&](std::size_t at, const Call& call) {
      const std::size_t row = begin + at;
      const std::int32_t collective = word(call.collective);
      if (into.collective[row] == kUnknown) {
        into.collective[row] = collective;
        into.op[row] = word(call.op);
        into.site[row] = word(call.site);
        into.algorithm[row] = word(call.algorithm);
      } else if (into.collective[row] != collective) {
        if (odd.count++ == 0) odd = {1, row, collective, into.collective[row]};
        into.mixed[row] = 1;
      }
      into.bytes[row] = std::max(into.bytes[row], call.bytes);
      into.element_bytes[row] = std::max(into.element_bytes[row], call.element_bytes);
      into.root[row] = std::max(into.root[row], call.root);
      std::int8_t& served = into.served[row];
      if (served != kFailed) served = std::max(served, static_cast<std::int8_t>(call.served));
      if (call.served == Served::failed) served = kFailed;
      Range& range = ranges[clock_of[part] * count + at];
      range.several = range.first != Range{}.first;
      range.last = std::max(range.last, call.arrival);
      range.first = std::min(range.first, call.exit);
    });
  }
  for (std::size_t at = 0; at < ranges.size(); ++at) {
    const Range& range = ranges[at];
    if (!range.several) continue;
    const auto gap = static_cast<double>(range.last - range.first) * 1e-9;
    double& most = into.gap[begin + at % count];
    most = std::max(most, gap);
  }
}

void MatchedCalls::set_clock(std::size_t part, ClockOffset offset, double start) {
  if (offset.times.empty() || offset.times.size() != offset.offsets.size()) {
    throw Error("offsets of a clock", std::to_string(offset.offsets.size()), "as many as times");
  }
  own_.at(part).clock = std::move(offset);
  own_[part].start = start;
}

void MatchedCalls::forget_arrivals(std::size_t call) { forgotten_.at(call) = 1; }

void MatchedCalls::forget_part(std::size_t part) {
  own_.at(part).place =
      std::make_shared<const std::vector<std::uint32_t>>(sequence_->size(), kNone);
}

double MatchedCalls::seconds(const Own& own, std::int64_t time) const {
  const double local = static_cast<double>(time - zero_) * 1e-9;
  const auto& [times, offsets] = own.clock;
  if (times.empty()) return local;
  double offset = offsets[0];
  if (times.size() > 1) {
    const auto later = std::ranges::upper_bound(times, local);
    if (later == times.end()) {
      offset = offsets.back();
    } else if (later != times.begin()) {
      const auto at = static_cast<std::size_t>(later - times.begin()) - 1;
      const double slope = (offsets[at + 1] - offsets[at]) / (times[at + 1] - times[at]);
      offset = slope * (local - times[at]) + offsets[at];
    }
  }
  return local + offset - own.start;
}

/// Some columns after each other, then their rows.
class MatchedCalls::Reading {
 public:
  Reading(const MatchedCalls& of, std::span<const std::int64_t> calls) : of_(of), calls_(calls) {}

  void operator()(std::span<const std::int64_t> parts, std::size_t begin, std::size_t end,
                  std::span<double> arrival, std::span<double> exit) {
    const std::size_t columns = end - begin;
    arrival_.assign(columns * calls_.size(), std::numeric_limits<double>::quiet_NaN());
    exit_.assign(columns * calls_.size(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t column = 0; column < columns; ++column) {
      if (parts[begin + column] >= 0) fill(column, static_cast<std::size_t>(parts[begin + column]));
    }
    for (std::size_t row = 0; row < calls_.size(); ++row) {
      for (std::size_t column = 0; column < columns; ++column) {
        arrival[row * parts.size() + begin + column] = arrival_[column * calls_.size() + row];
        exit[row * parts.size() + begin + column] = exit_[column * calls_.size() + row];
      }
    }
  }

 private:
  void fill(std::size_t column, std::size_t part) {
    const Own& own = of_.own_[part];
    places_.resize(calls_.size());
    for (std::size_t row = 0; row < calls_.size(); ++row) {
      places_[row] = (*own.place)[static_cast<std::size_t>(calls_[row])];
    }
    const std::size_t at = column * calls_.size();
    records_(own.part.file->path, places_, [&](std::size_t row, const Call& call) {
      const bool forgotten = of_.forgotten_[static_cast<std::size_t>(calls_[row])] != 0;
      if (!forgotten) arrival_[at + row] = of_.seconds(own, call.arrival);
      exit_[at + row] = of_.seconds(own, call.exit);
    });
  }

  const MatchedCalls& of_;
  std::span<const std::int64_t> calls_;
  std::vector<double> arrival_;  // column after column
  std::vector<double> exit_;
  std::vector<std::uint32_t> places_;
  Records records_;
};

void MatchedCalls::read(std::span<const std::int64_t> calls, std::span<const std::int64_t> parts,
                        std::span<double> arrival, std::span<double> exit) const {
  if (arrival.size() != calls.size() * parts.size() || exit.size() != arrival.size()) {
    throw Error("times", std::to_string(arrival.size()), "one for each call and part");
  }
  for (const std::int64_t call : calls) {
    if (call < 0 || static_cast<std::size_t>(call) >= sequence_->size()) {
      throw Error("call", std::to_string(call), "below " + std::to_string(sequence_->size()));
    }
  }
  for (const std::int64_t part : parts) {
    if (part >= static_cast<std::int64_t>(own_.size())) {
      throw Error("part", std::to_string(part), "below " + std::to_string(own_.size()));
    }
  }
  const std::size_t width = parts.size();
  const std::size_t tiles = (width + kTile - 1) / kTile;
  in_parallel(tiles, kWorthAThread / (kTile * calls.size() + 1) + 1,
              [&](std::size_t begin, std::size_t end) {
                Reading reading(*this, calls);
                for (std::size_t tile = begin; tile < end; ++tile) {
                  const std::size_t first = tile * kTile;
                  reading(parts, first, std::min(first + kTile, width), arrival, exit);
                }
              });
}

}  // namespace latecomer::trace
