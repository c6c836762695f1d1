#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/reproducible.hpp"

namespace latecomer {
namespace {

constexpr JsonLimits kSmall{
    .bytes = 4096, .depth = 3, .values = 20, .members = 3, .text_bytes = 16};

JsonValue read_small(std::string_view text) { return read_json(text, "x.json", kSmall); }

std::string refusal(std::string_view text) {
  try {
    (void)read_small(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(JsonReader, ReadsValuesWithTheirLines) {
  const JsonValue top = read_small("{\"a\": [1, -2.5e3,\n true, null], \"b\": \"x\\u00e9\\n\"}\n");
  ASSERT_EQ(top.members.size(), 2U);
  const JsonValue& list = top.members[0].second;
  ASSERT_EQ(list.items.size(), 4U);
  EXPECT_EQ(list.items[0].number, 1);
  EXPECT_EQ(list.items[1].number, -2500);
  EXPECT_TRUE(list.items[2].boolean);
  EXPECT_EQ(list.items[2].line, 2);
  EXPECT_EQ(list.items[3].kind, JsonValue::Kind::null);
  EXPECT_EQ(top.members[1].second.text, "x\xc3\xa9\n");
  EXPECT_EQ(read_small("\"\\ud83d\\ude00\"").text, "\xf0\x9f\x98\x80");
  EXPECT_EQ(read_small(" [ ] ").kind, JsonValue::Kind::list);
  EXPECT_EQ(read_small("{}").kind, JsonValue::Kind::object);
}

struct Refused {
  std::string text;
  std::string_view said;
};

TEST(JsonReader, RefusesWhatIsNoJsonAndNamesTheLine) {
  const Refused cases[] = {
      {"", "line 1: 'the end of the file'"},
      {"[1\n,]", "line 2: ']'"},
      {"[1 2]", "a comma or ]"},
      {"{\"a\" 1}", "a colon"},
      {"{a: 1}", "a key in double quotes"},
      {"{\"a\": 1,\n\"a\": 2}", "line 2, key: 'a' is not usable; right would be a key once"},
      {"{\"a\": 1", "a comma or }"},
      {"1 2", "the end of the file"},
      {"01", "without a leading zero"},
      {"-", "a digit"},
      {"1.", "a digit"},
      {"1e", "a digit"},
      {"+1", "a value"},
      {"1e999", "one that a double can hold"},
      {"-1e999", "one that a double can hold"},
      {"NaN", "a value"},
      {"Infinity", "a value"},
      {"truth", "a value"},
      {"true1", "the end of the file"},
      {"'a'", "a value"},
      {"// a\n1", "a value"},
      {"\xef\xbb\xbf"
       "1",
       "a value"},
      {"\"a", "a text that ends in its line"},
      {"\"a\nb\"", "a text that ends in its line"},
      {"\"\\x\"", "one of the escapes of JSON"},
      {"\"\\u12g4\"", "four hexadecimal digits"},
      {"\"\\ud800\"", "the second half"},
      {"\"\\ud800\\u0041\"", "the second half"},
      {"\"\\udc00\"", "a first half"},
      {"\"\xff\"", "UTF-8"},
      {"\"12345678901234567\"", "at most so many"},
      {"[[[[1]]]]", "at most 3"},
      {R"({"a":1,"b":2,"c":3,"d":4})", "more than 3"},
      {"[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]", "at most 20 of them"},
      {std::string(5000, ' '), "bytes: '5000'"},
      {std::string("[\0]", 3), "a value"},
      {std::string("1\0", 2), "the end of the file"},
  };
  for (const Refused& each : cases) {
    const std::string said = refusal(each.text);
    EXPECT_NE(said.find(each.said), std::string::npos) << each.text << "\n" << said;
    EXPECT_EQ(said.find("x.json"), 0U) << said;
  }
}

TEST(JsonReader, ShowsNothingThatATerminalObeys) {
  for (const std::string_view text : {"\x1b[2J", "{\"\\u001b[2J\": 1, \"\\u001b[2J\": 1}"}) {
    EXPECT_EQ(refusal(text).find('\x1b'), std::string::npos);
  }
  EXPECT_EQ(shown(read_small("\"a\\u001b[31m\xc2\x9b\"")), "a?[31m??");
  std::string quoted(52, 'x');
  quoted.front() = quoted.back() = '"';
  EXPECT_EQ(shown(read_json(quoted, "", {})), std::string(40, 'x') + "...");
}

/// The value as a text again.
std::string written(const JsonValue& value) {
  switch (value.kind) {
    case JsonValue::Kind::text:
      return json_quoted(value.text);
    case JsonValue::Kind::list:
      return json_list(value.items, written);
    case JsonValue::Kind::object: {
      std::string all;
      for (const auto& [key, member] : value.members) {
        all += (all.empty() ? "" : ",") + json_quoted(key) + ':' + written(member);
      }
      return '{' + all + '}';
    }
    default:
      return shown(value);
  }
}

/// Whatever the bytes are, they are refused by an Error or read as a value that reads back.
TEST(JsonReader, SurvivesRandomChangesOfATextAndReadsBackWhatItAccepts) {
  const std::string_view seeds[] = {
      "{\"a\": [1, -2.5e3, true, null, \"x\\u00e9\\ud83d\\ude00\"], \"b\": {\"c\": []}}",
      "[[],[{}],\"\\\\\\\"\\/\\b\\f\\n\\r\\t\",0,0.5,1E+2,false]"};
  constexpr std::string_view kBytes = "{}[]\",:\\u0019eE+-.tfn \n\x01\x7f\xc3\xff";
  Random random(19);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text(seeds[random.below(2)]);
    for (auto changes = random.below(4); changes > 0; --changes) {
      const auto at = static_cast<std::ptrdiff_t>(random.below(text.size()));
      const char byte = kBytes[random.below(kBytes.size())];
      if (random.below(3) == 0) {
        text.erase(text.begin() + at);
      } else if (random.below(2) == 0) {
        text.insert(text.begin() + at, byte);
      } else {
        text[static_cast<std::size_t>(at)] = byte;
      }
    }
    try {
      const std::string once = written(read_json(text, "x.json", {}));
      ++accepted;
      ASSERT_EQ(written(read_json(once, "x.json", {})), once) << text;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(accepted, 5000);
}

}  // namespace
}  // namespace latecomer
