#include "trace/trace_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/error.hpp"
#include "base/parse.hpp"

namespace latecomer::trace {
namespace {

constexpr std::uint64_t kGrowth = 1 << 20;  // bytes
constexpr std::uint64_t kFewestBytes = 64 << 10;
constexpr std::size_t kLongestWritten = 1 << 10;  // bytes

std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Puts a text into a field, with a zero behind it.
template <std::size_t size>
void write_text(std::array<char, size>& to, std::string_view text) {
  text.copy(to.data(), size - 1);
}

/// Opens a folder of this user's that others cannot write to, or makes it. Negative: `why`.
int open_folder(const std::string& folder, std::string& why) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    why = meaning_of_error(errno);
    return -1;
  }
  const int opened = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (opened < 0) why = meaning_of_error(errno);
  return opened;
}

}  // namespace

std::uint64_t read_limit(std::string_view text) {
  const auto bytes = static_cast<std::uint64_t>(parse_bytes("bytes", text));
  if (bytes < kFewestBytes || bytes > kMostFileBytes) {
    throw Error("bytes", std::string(text), "a size from 64KiB to 4GiB");
  }
  return bytes;
}

std::int64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }

Header header_of(std::int32_t rank, std::int32_t ranks, std::string_view host,
                 std::string_view library) {
  Header header;
  header.rank = rank;
  header.ranks = ranks;
  header.pid = static_cast<std::uint64_t>(getpid());
  header.begin = now_ns();
  header.real = clock_ns(CLOCK_REALTIME) - header.begin;
  header.limit = kDefaultBytes;
  write_text(header.host, host);
  write_text(header.library, library);
  return header;
}

std::unique_ptr<File> File::make(const std::string& folder, const Header& header,
                                 std::string& why) {
  const std::string name = "rank-" + std::to_string(header.rank) + ".trace";
  const int within = open_folder(folder, why);
  if (within < 0) return nullptr;
  OwnDescriptor file(
      openat(within, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.get() < 0) {
    why =
        errno == EEXIST ? "it holds a trace already; name another folder" : meaning_of_error(errno);
    close(within);
    return nullptr;
  }
  auto made = fill(std::move(file), header, why);
  // An empty file would be taken for a trace by the next job.
  if (!made) (void)unlinkat(within, name.c_str(), 0);
  close(within);
  return made;
}

std::unique_ptr<File> File::fill(OwnDescriptor file, const Header& header, std::string& why) {
  void* const at = mmap(nullptr, header.limit, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (at == MAP_FAILED) {
    why = "no memory map: " + meaning_of_error(errno);
    return nullptr;
  }
  madvise(at, header.limit, MADV_DONTFORK);
  std::unique_ptr<File> made(new File(std::move(file), static_cast<char*>(at), header.limit));
  if (!made->grow(sizeof header)) {
    why = meaning_of_error(made->obstacle_);
    return nullptr;
  }
  std::memcpy(made->at_, &header, sizeof header);
  return made;
}

File::~File() { munmap(at_, mapped_); }

bool File::has_room(std::uint64_t records) {
  const std::uint64_t needed = sizeof(Header) + (header().used + records) * sizeof(Call);
  return needed <= have_ || grow(needed);
}

/// The memory beyond the file's end must not be touched, and neither must what the disk lacks.
bool File::grow(std::uint64_t bytes) {
  if (bytes > limit_) return false;
  const std::uint64_t whole = (bytes + kGrowth - 1) / kGrowth * kGrowth;
  const std::uint64_t wanted = std::min(limit_, std::max(whole, have_ + kGrowth));
  const int file = file_.get();
  // Not from 0 on: file systems that cannot do it have each page read or written.
  obstacle_ = file < 0 ? EBADF : reserve_room(file, have_, wanted - have_);
  if (obstacle_ != 0) {
    limit_ = have_;
    if (have_ > 0) header().limit = limit_;
    return false;
  }
  // Pages that were written stay in the file, and count no longer as memory of the process.
  if (have_ > kGrowth) madvise(at_ + have_ - kGrowth, kGrowth, MADV_DONTNEED);
  have_ = wanted;
  return true;
}

void File::end(std::int64_t now) {
  header().end = now;
  const std::uint64_t used = sizeof(Header) + header().used * sizeof(Call);
  // A file that keeps its tail is as good: the header says how much of it counts.
  const int file = file_.get();
  if (file >= 0 && ftruncate(file, static_cast<off_t>(used)) == 0) have_ = used;
}

std::uint32_t Texts::operator()(File& file, std::string_view words) try {
  words = words.substr(0, kLongestWritten);
  if (const auto found = known_.find(words); found != known_.end()) return found->second;
  constexpr std::size_t kPiece = sizeof(Text::piece);
  const std::size_t pieces = std::max<std::size_t>(1, (words.size() + kPiece - 1) / kPiece);
  if (known_.size() >= kMostTexts || !file.has_room(pieces)) return 0;
  const auto id = static_cast<std::uint32_t>(known_.size());
  known_.emplace(words, id);
  for (std::size_t i = 0; i < pieces; ++i) {
    const std::string_view piece = words.substr(i * kPiece, kPiece);
    Text record;
    record.id = id;
    record.bytes = static_cast<std::uint8_t>(piece.size());
    record.last = i + 1 == pieces ? 1 : 0;
    std::copy(piece.begin(), piece.end(), record.piece.begin());
    file.append(record);
  }
  return id;
} catch (const std::bad_alloc&) {
  return 0;
}

}  // namespace latecomer::trace
