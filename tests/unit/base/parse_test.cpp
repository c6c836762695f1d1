#include "base/parse.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.hpp"
#include "base/network.hpp"

namespace latecomer {
namespace {

std::string message(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Parse, CountsAndSizes) {
  EXPECT_EQ(parse_count("count", "1Mi"), 1048576);
  EXPECT_EQ(parse_count("count", "3k"), 3000);
  EXPECT_EQ(parse_count("count", "0"), 0);
  EXPECT_EQ(parse_bytes("bytes", "64KiB"), 65536);
  EXPECT_EQ(parse_bytes("bytes", "1.5MB"), 1500000);
  EXPECT_EQ(parse_bytes("bytes", "8G"), Count{8} << 30);
  EXPECT_EQ(parse_bytes("bytes", "1TiB"), Count{1} << 40);
}

TEST(Parse, Times) {
  EXPECT_DOUBLE_EQ(parse_seconds("delay", "50us"), 50e-6);
  EXPECT_DOUBLE_EQ(parse_seconds("delay", "1.5s"), 1.5);
  EXPECT_EQ(parse_seconds("delay", "0"), 0);
}

TEST(Parse, RefusesWhatIsNoNumber) {
  for (const std::string text : {"", "x", "4Mi!", "-1", "1.5", "1e400", "nan", "inf", "9e18"}) {
    EXPECT_THROW((void)parse_count("count", text), Error) << text;
  }
  for (const std::string text : {"5", "-5ms", "5 ms", "5m", "infs"}) {
    EXPECT_THROW((void)parse_seconds("delay", text), Error) << text;
  }
}

TEST(Parse, CountsFromTheLeastOneUp) {
  EXPECT_EQ(parse_count("segments", "1", 1), 1);
  for (const std::string value : {"0", "-1", "x"}) {
    EXPECT_NE(message([&] { (void)parse_count("segments", value, 1); }).find("from 1 up"),
              std::string::npos)
        << value;
  }
}

TEST(Parse, RanksAreNotCutToTheirBits) {
  EXPECT_EQ(parse_rank("node", "2147483647", 0), 2147483647);
  for (const std::string text : {"2147483648", "4294967296", "4Gi"}) {
    EXPECT_NE(message([&] { (void)parse_rank("node", text, 0); }).find("0 to 2147483647"),
              std::string::npos)
        << text;
  }
}

TEST(Parse, SaysWhichNumbersAreTooLarge) {
  const std::string most = ", at most 9007199254740992";
  EXPECT_FALSE(message([] { (void)parse_bytes("bytes", "-1"); }).ends_with(most));
  for (const std::string text : {"9007199254740994", "8193TiB", "99999999999999999999"}) {
    EXPECT_TRUE(message([&] { (void)parse_bytes("bytes", text); }).ends_with(most)) << text;
  }
  EXPECT_EQ(parse_bytes("bytes", "9007199254740992"), Count{1} << 53);
}

TEST(Parse, ErrorsNameWhatValueAndRemedy) {
  const std::string text = message([] { (void)parse_seconds("delay", "5 parsecs"); });
  EXPECT_EQ(
      text,
      "delay: '5 parsecs' is not usable; right would be 0, or a time with its unit (s, ms, us or "
      "ns) such as 8ns, 50us, 5ms or 1.5s");
}

TEST(NetworkText, ReadsBack) {
  const Network network = parse_network(
      "alpha=3us,beta=40ns,gamma=0.1ns,eager=4KiB,buffer=1MiB,handshake=6us,ports=2,exchange=1.5,"
      "per_node=4,local_alpha=2us,local_beta=0.5ns,burst=128KiB,jitter=0.1,seed=9");
  EXPECT_DOUBLE_EQ(network.alpha, 3e-6);
  EXPECT_EQ(network.eager_limit, 4096);
  EXPECT_EQ(network.buffer, 1 << 20);
  EXPECT_EQ(network.ports, 2);
  EXPECT_EQ(network.exchange, 1.5);
  EXPECT_EQ(network.per_node, 4);
  EXPECT_EQ(network.burst, 131072);
  EXPECT_DOUBLE_EQ(network.local_alpha, 2e-6);
  EXPECT_DOUBLE_EQ(network.local_beta, 0.5e-9);
  EXPECT_EQ(parse_network(to_string(network)), network);
  EXPECT_EQ(parse_network(""), Network{});
}

TEST(NetworkText, RefusesUnknownAndWrongParts) {
  EXPECT_NE(message([] { (void)parse_network("alfa=3us"); }).find("alpha, beta"),
            std::string::npos);
  EXPECT_NE(message([] { (void)parse_network("alpha"); }).find("network alpha"), std::string::npos);
  for (const std::string text : {"ports=0", "ports=1025", "ports=1e9"}) {
    EXPECT_NE(message([&] { (void)parse_network(text); }).find("1 to 1024"), std::string::npos)
        << text;
  }
  EXPECT_EQ(message([] { (void)parse_network("alpha=1us,beta=0,alpha=2us"); }),
            "network alpha: '2us' is not usable; right would be given once");
  EXPECT_THROW((void)parse_network("jitter=-1"), Error);
  EXPECT_THROW((void)parse_network("exchange=0.5"), Error);
  EXPECT_THROW((void)parse_network("per_node=0"), Error);
}

}  // namespace
}  // namespace latecomer
