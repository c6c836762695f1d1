// Members of communicators of which each file knows one place.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "trace/rank_file.hpp"

namespace latecomer::trace {
namespace {

/// The file of a rank that knows its own place in a communicator alone.
RankFile file_of(std::int32_t rank, std::int32_t ranks, std::uint64_t key, std::int32_t size,
                 std::int32_t place) {
  RankFile file;
  file.header.rank = rank;
  file.header.ranks = ranks;
  FileComm& comm = file.comms.emplace_back();
  comm.key = key;
  comm.size = size;
  comm.rank = place;
  return file;
}

std::vector<std::vector<std::int32_t>> gathered(std::vector<RankFile> files) {
  std::vector<RankFile*> all;
  for (RankFile& each : files) all.push_back(&each);
  gather_members(all);
  std::vector<std::vector<std::int32_t>> members;
  for (const RankFile& each : files) {
    members.push_back(each.comms.at(0).members);
  }
  return members;
}

TEST(Members, AreThoseOfAllFiles) {
  using Members = std::vector<std::int32_t>;
  const Members even = {2, 0};
  const Members odd = {1, 3};
  EXPECT_EQ(gathered({file_of(0, 4, 7, 2, 1), file_of(1, 4, 8, 2, 0), file_of(2, 4, 7, 2, 0),
                      file_of(3, 4, 8, 2, 1)}),
            (std::vector<Members>{even, odd, even, odd}));
}

TEST(Members, OfNoFileAreRanksWithoutOne) {
  using Members = std::vector<std::int32_t>;
  const Members all = {0, 2, 1};
  EXPECT_EQ(gathered({file_of(0, 4, 7, 3, 0), file_of(1, 4, 7, 3, 2)}),
            (std::vector<Members>{all, all}));
  const Members four = {1, 2, 3, 0};
  EXPECT_EQ(gathered({file_of(0, 4, 7, 4, 3), file_of(1, 4, 7, 4, 0)}),
            (std::vector<Members>{four, four}));
}

TEST(Members, OfOneFileTakeOnePlace) {
  RankFile twice = file_of(0, 4, 7, 2, 0);
  twice.comms.push_back(twice.comms[0]);
  twice.comms[1].rank = 1;
  RankFile right = file_of(1, 4, 7, 2, 1);
  const std::vector<RankFile*> files = {&twice, &right};
  gather_members(files);
  EXPECT_EQ(right.comms[0].members, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(twice.comms[0].members, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(twice.comms[1].members, (std::vector<std::int32_t>{0, 0}));
}

/// A file of a larger job, which lies beside, gives no member and takes no place.
TEST(Members, AreOfOneJob) {
  using Members = std::vector<std::int32_t>;
  const Members four = {0, 1, 2, 3};
  EXPECT_EQ(gathered({file_of(0, 4, 7, 4, 0), file_of(1, 4, 7, 4, 1), file_of(3, 8, 7, 4, 2)}),
            (std::vector<Members>{four, four, {0, 1, 3, 2}}));
}

TEST(Members, OfOnePlaceDiffer) {
  using Members = std::vector<std::int32_t>;
  EXPECT_EQ(gathered({file_of(0, 2, 7, 2, 0), file_of(1, 2, 7, 2, 0)}),
            (std::vector<Members>{{0, 1}, {1, 1}}));
}

}  // namespace
}  // namespace latecomer::trace
