#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "base/files.hpp"
#include "trace/rank_calls.hpp"
#include "trace/rank_file.hpp"

namespace latecomer::trace {
namespace {

constexpr std::int32_t kMostRanks = 1 << 20;
constexpr std::int64_t kMostMembers = 1 << 24;  // of all communicators of one file together
constexpr std::size_t kLongestText = 1 << 16;
constexpr std::int32_t kNobody = -1;
constexpr double kMostDrift = 1e-3;  // seconds a second, of two clocks
/// For people: what is no letter, digit or sign as its number.
std::string shown(std::string_view raw) {
  static constexpr const char* digits = "0123456789abcdef";
  std::string text = "b'";
  for (const char each : raw) {
    if (each >= ' ' && each <= '~') {
      text += each;
    } else {
      const auto number = static_cast<unsigned char>(each);
      text += {'\\', 'x', digits[number >> 4], digits[number & 15]};
    }
  }
  return text + "'";
}

class Reader {
 public:
  Reader(RankFile& into, SharedNumbers& shared) : file_(into), shared_(shared) {}

  void read(std::int64_t rank) {
    const OwnDescriptor opened(open(file_.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat about{};
    if (opened.get() < 0 || fstat(opened.get(), &about) != 0) return refuse_unreadable(errno);
    const auto size = static_cast<std::uint64_t>(about.st_size);
    if (size < sizeof(Header)) {
      return refuse(size, "the file ends in the header", std::to_string(size),
                    std::to_string(sizeof(Header)) + " bytes");
    }
    if (size > kMostFileBytes) {
      return refuse(0, "size", std::to_string(size),
                    "at most " + std::to_string(kMostFileBytes) + " bytes");
    }
    Header& header = file_.header;
    if (!fill(opened.get(), 0, &header, sizeof header)) return;
    if (!check_header(rank)) return;
    const std::uint64_t have = (size - sizeof(Header)) / kRecord;
    if (header.used > have) {
      add("ends of files, which are missing", size,
          std::to_string(have) + " records; used: " + std::to_string(header.used));
    }
    records_.resize(std::min(header.used, have));
    if (!fill(opened.get(), sizeof(Header), records_.data(), records_.size() * kRecord)) return;
    sort_by_kind();
    read_texts();
    if (!read_communicators()) return;
    Numbered slots(kUsual);
    for (std::size_t at = 0; at < file_.comms.size(); ++at) {
      slots.set(file_.comms[at].id, static_cast<std::int32_t>(at));
    }
    read_calls({records_, places(Kind::call), about_}, slots, file_, shared_);
    read_messages({records_, places(Kind::message), about_}, file_);
    read_others({records_, places(Kind::other), about_}, file_);
    read_clocks();
    read_completions();
    read_outside();
  }

 private:
  // ---- what is wrong

  void refuse(std::uint64_t byte, const std::string& what, const std::string& value,
              const std::string& right) {
    file_.refused = {static_cast<std::int64_t>(byte), what, value, right};
  }
  void refuse_unreadable(int error) {
    file_.refused = {-1, "cannot be read", meaning_of_error(error), ""};
  }
  void add(const std::string& what, std::uint64_t byte, const std::string& value,
           std::uint64_t count = 1) {
    file_.add({what, byte, value, count});
  }

  bool fill(int descriptor, std::uint64_t from, void* into, std::size_t bytes) {
    const int code = read_all(descriptor, from, into, bytes);
    if (code != 0) refuse_unreadable(code);
    return code == 0;
  }

  bool check_header(std::int64_t rank) {
    const Header& h = file_.header;
    const auto check = [this](bool good, std::uint64_t byte, const char* name,
                              const std::string& value, const std::string& right) {
      if (!good && !file_.refused) refuse(byte, name, value, right);
    };
    std::string_view magic(h.magic.data(), h.magic.size());
    magic = magic.substr(0, magic.find_last_not_of('\0') + 1);
    check(h.magic == kMagic, 0, "the first bytes", shown(magic),
          shown({kMagic.data(), kMagic.size()}) + ": no trace");
    const auto number = [&](auto Header::* member, const char* name, bool good,
                            const std::string& right) {
      check(good, place_of(member), name, std::to_string(h.*member), right);
    };
    number(&Header::byte_order, "byte_order", h.byte_order == kByteOrder, "that of this machine");
    number(&Header::version, "version", h.version == kVersion,
           std::to_string(kVersion) + ": read it with the latecomer of then");
    number(&Header::header_bytes, "header_bytes", h.header_bytes == sizeof(Header),
           std::to_string(sizeof(Header)));
    number(&Header::record_bytes, "record_bytes", h.record_bytes == kRecord,
           std::to_string(kRecord));
    number(&Header::ranks, "ranks", 1 <= h.ranks && h.ranks <= kMostRanks,
           "1 to " + std::to_string(kMostRanks));
    number(&Header::rank, "rank", 0 <= h.rank && h.rank < h.ranks,
           "below " + std::to_string(h.ranks));
    number(&Header::rank, "rank", h.rank == rank,
           std::to_string(rank) + ", as the file's name says");
    const std::string time = "a time in nanoseconds";
    number(&Header::begin, "begin", is_time(h.begin), time);
    number(&Header::end, "end", is_time(h.end), time);
    number(&Header::real, "real", is_time(h.real), time);
    return !file_.refused;
  }

  void sort_by_kind() {
    constexpr auto kLast = static_cast<std::uint8_t>(Kind::outside);
    std::uint64_t strange = 0;
    std::size_t first = 0;
    for (std::size_t at = 0; at < records_.size(); ++at) {
      const std::uint8_t kind = records_[at].kind();
      if (kind <= kLast) {
        places_[kind].push_back(static_cast<std::uint32_t>(at));
      } else if (strange++ == 0) {
        first = at;
      }
    }
    if (strange == 0) return;
    add("records of a kind that is not 0 to " + std::to_string(kLast), byte_of(first),
        "kind of record: " + std::to_string(records_[first].kind()), strange);
  }

  [[nodiscard]] const std::vector<std::uint32_t>& places(Kind kind) const {
    return places_[static_cast<std::size_t>(kind)];
  }

  // ---- texts and communicators

  /// Each in one or more records.
  void read_texts() {
    std::string pieces;
    std::int64_t number = -1;
    for (const std::uint32_t place : places(Kind::text)) {
      const auto record = records_[place].as<Text>();
      if (record.id != number) {
        pieces.clear();
        number = record.id;
      }
      if (record.bytes > record.piece.size() || pieces.size() + record.bytes > kLongestText) {
        add("pieces of texts that are too long", byte_of(place) + offsetof(Text, bytes),
            "length of a text: " + std::to_string(record.bytes) + "; right would be at most 56");
        continue;
      }
      pieces.append(record.piece.data(), record.bytes);
      if (record.last == 0) continue;
      if (!file_.texts.emplace(record.id, pieces).second) {
        add("texts whose number another one has", byte_of(place) + offsetof(Text, id),
            "id of a text: " + std::to_string(number));
      }
      number = -1;
    }
    for (const auto& [id, text] : file_.texts) about_.texts.set(id, 0);
  }

  bool read_communicators() {
    std::map<std::uint32_t, std::vector<std::uint32_t>> lists;
    for (const std::uint32_t place : places(Kind::members)) {
      lists[records_[place].as<Members>().communicator].push_back(place);
    }
    std::int64_t total = 0;
    std::map<std::uint32_t, std::size_t> known;
    for (const std::uint32_t place : places(Kind::communicator)) {
      const auto record = records_[place].as<Communicator>();
      total += std::max(record.size, 0);
      if (total > kMostMembers) {
        refuse(byte_of(place), "members of all communicators", std::to_string(total),
               "at most " + std::to_string(kMostMembers));
        return false;
      }
      std::vector<std::int32_t> members = members_of(record, lists);
      if (!check(record, place, members)) continue;
      const auto [at, fresh] = known.emplace(record.id, file_.comms.size());
      if (fresh) file_.comms.emplace_back();
      file_.comms[at->second] = {record.id,   record.key,  record.number,        record.rank,
                                 record.size, record.name, record.together != 0, std::move(members),
                                 {},          {}};
    }
    for (const FileComm& comm : file_.comms) {
      about_.comms.set(comm.id, comm.size);
    }
    return true;
  }

  /// Empty: the size is wrong, or one of them is no rank; or the file does not know them.
  std::vector<std::int32_t> members_of(
      const Communicator& record,
      const std::map<std::uint32_t, std::vector<std::uint32_t>>& lists) const {
    const std::int32_t ranks = file_.header.ranks;
    std::vector<std::int32_t> members;
    if (record.size < 1 || record.size > ranks) return members;
    if (record.listed == Listed::by_files) return members;
    if (record.listed == Listed::by_stride) {
      for (std::int64_t i = 0; i < record.size; ++i) {
        const std::int64_t rank = record.first + i * record.stride;
        if (rank < 0 || rank >= ranks) return {};
        members.push_back(static_cast<std::int32_t>(rank));
      }
      return members;
    }
    const auto own = lists.find(record.id);
    if (own == lists.end()) return members;
    for (const std::uint32_t place : own->second) {
      // Many communicators may name the same long list.
      if (members.size() > static_cast<std::size_t>(record.size)) return {};
      const auto part = records_[place].as<Members>();
      const auto count = std::min<std::size_t>(part.count, part.ranks.size());
      for (const std::int32_t rank : std::span(part.ranks).first(count)) {
        if (rank < 0 || rank >= ranks) return {};
        members.push_back(rank);
      }
    }
    return members;
  }

  bool check(const Communicator& record, std::size_t place,
             const std::vector<std::int32_t>& members) {
    const Header& header = file_.header;
    std::vector<std::int32_t> sorted = members;
    std::ranges::sort(sorted);
    const auto size = static_cast<std::size_t>(std::max(record.size, 0));
    const bool unknown = record.listed == Listed::by_files;
    const bool whole =
        unknown || (members.size() == size && std::ranges::adjacent_find(sorted) == sorted.end());
    const bool inside = 0 <= record.rank && record.rank < record.size;
    bool good = true;
    const auto rule = [&](bool holds, const char* name, auto Communicator::* member,
                          const char* right) {
      if (holds || !good) return;
      good = false;
      add(std::string("communicators whose ") + name + " is not " + right,
          byte_of(place) + place_of(member),
          std::string(name) + " of a communicator: " + std::to_string(record.*member));
    };
    rule(1 <= record.size && record.size <= header.ranks, "size", &Communicator::size,
         "1 to the number of ranks");
    rule(inside, "rank", &Communicator::rank, "below its size");
    rule(about_.texts.has(record.name), "name", &Communicator::name, "the number of a text");
    rule(whole, "first", &Communicator::first, "that of as many different ranks as it has");
    rule(unknown ||
             (whole && inside && members[static_cast<std::size_t>(record.rank)] == header.rank),
         "rank", &Communicator::rank, "that of the file's rank");
    return good;
  }

  void read_clocks() {
    std::uint64_t wrong = 0;
    std::size_t first = 0;
    for (const std::uint32_t place : places(Kind::clock)) {
      const auto clock = records_[place].as<Clock>();
      bool good = about_.comms.has(clock.communicator) && is_time(clock.origin);
      for (const double each : {clock.offset, clock.error, clock.drift, clock.drift_error}) {
        good = good && std::isfinite(each);
      }
      good = good && std::abs(clock.drift) <= kMostDrift && clock.drift_error >= 0 &&
             clock.drift_error <= kMostDrift;
      if (good && clock.error >= 0) {
        file_.clocks.push_back(clock);
      } else if (wrong++ == 0) {
        first = place;
      }
    }
    if (wrong > 0) add("comparisons of clocks that are wrong", byte_of(first), "", wrong);
  }

  /// Those that are wrong belong to no call.
  void read_completions() {
    for (const std::uint32_t place : places(Kind::completion)) {
      const auto record = records_[place].as<Completion>();
      const bool good = is_time(record.begin) && record.between >= 0 && record.between < kMostTime;
      if (good) file_.completions.push_back(record);
    }
  }

  /// The last one that can be right counts. It is by a sample, so `time` is not exact.
  void read_outside() {
    const Header& header = file_.header;
    const std::int64_t most = header.end > 0 ? 2 * (header.end - header.begin) : kMostTime - 1;
    for (const std::uint32_t place : places(Kind::outside)) {
      const auto record = records_[place].as<Outside>();
      const auto is_part = [&](std::int64_t part) { return part >= 0 && part <= record.time; };
      const bool good = record.time > 0 && record.time <= most && is_part(record.preempted) &&
                        is_part(record.blocked) && is_part(record.preempted + record.blocked);
      if (good) {
        file_.outside = record;
      } else {
        add("times outside of MPI that cannot be", byte_of(place), std::to_string(record.time));
      }
    }
  }

  RankFile& file_;
  SharedNumbers& shared_;
  std::vector<Raw> records_;
  std::array<std::vector<std::uint32_t>, 10> places_;  // by kind
  static constexpr std::size_t kUsual = 1 << 16;
  About about_{file_.header, Numbered(kUsual), Numbered(kUsual)};
};

}  // namespace

void gather_members(std::span<RankFile* const> files) {
  struct Known {
    std::vector<std::int32_t> members;
    std::set<std::int32_t> placed;  // of these
    std::vector<FileComm*> comms;
    std::vector<std::int32_t> ranks;  // of their files
  };
  // By the job's number of ranks, too: files of another job may lie beside.
  std::map<std::tuple<std::int32_t, std::uint64_t, std::uint32_t, std::int32_t>, Known> all;
  std::map<std::int32_t, std::set<std::int32_t>> with_file;  // ranks, by that number
  for (RankFile* const file : files) {
    if (file->refused) continue;
    with_file[file->header.ranks].insert(file->header.rank);
    for (FileComm& comm : file->comms) {
      if (!comm.members.empty()) continue;
      Known& known = all[{file->header.ranks, comm.key, comm.number, comm.size}];
      known.members.resize(static_cast<std::size_t>(comm.size), kNobody);
      std::int32_t& place = known.members[static_cast<std::size_t>(comm.rank)];
      if (place == kNobody && known.placed.insert(file->header.rank).second) {
        place = file->header.rank;
      }
      known.comms.push_back(&comm);
      known.ranks.push_back(file->header.rank);
    }
  }
  for (auto& [key, known] : all) {
    const std::int32_t ranks = std::get<0>(key);
    auto place = std::ranges::find(known.members, kNobody);
    for (const bool those : {false, true}) {  // ranks without a file first
      for (std::int32_t rank = 0; rank < ranks && place != known.members.end(); ++rank) {
        const bool fits = with_file[ranks].contains(rank) == those;
        if (!fits || known.placed.contains(rank)) continue;
        *place = rank;
        place = std::find(place, known.members.end(), kNobody);
      }
    }
    for (std::size_t at = 0; at < known.comms.size(); ++at) {
      FileComm& comm = *known.comms[at];
      comm.members = known.members;
      comm.members[static_cast<std::size_t>(comm.rank)] = known.ranks[at];
    }
  }
}

RankFile read_rank_file(const std::string& path, std::int64_t rank, SharedNumbers& shared) {
  RankFile file;
  file.path = path;
  Reader(file, shared).read(rank);
  return file;
}

}  // namespace latecomer::trace
