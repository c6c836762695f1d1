#include "runtime/settings/defaults.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/parse.hpp"
#include "base/reproducible.hpp"
#include "runtime/settings/environment.hpp"

namespace latecomer {
namespace {

bool is_regular(int file) {
  struct stat found{};
  return fstat(file, &found) == 0 && S_ISREG(found.st_mode);
}

/// The text, as far as it can be read, and at most one byte more than allowed.
std::string text_of(int file, std::size_t most) {
  std::string all(most + 1, '\0');
  std::size_t size = 0;
  while (size < all.size()) {
    const ssize_t more = read(file, all.data() + size, all.size() - size);
    if (more <= 0) break;
    size += static_cast<std::size_t>(more);
  }
  all.resize(size);
  return all;
}

}  // namespace

std::string read_small_file(const std::string& what, const std::string& name, std::size_t most) {
  // Does not wait for the writer of a pipe.
  const OwnDescriptor own(open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const int file = own.get();
  if (file < 0) throw Error(what, name, "a file that can be read");
  std::string text = is_regular(file) ? text_of(file, most) : "";
  if (!is_regular(file) || text.size() > most) {
    throw Error(what, name, "a regular file of at most " + std::to_string(most >> 10) + " KiB");
  }
  constexpr std::string_view kMark = "\xEF\xBB\xBF";  // some editors begin a file with it
  if (text.starts_with(kMark)) text.erase(0, kMark.size());
  return text;
}

namespace {

constexpr const char* kNetworkVariable = "LATECOMER_NETWORK";
constexpr std::size_t kMaxBytes = 64 << 10;

/// The content may be a secret, where the name of the file is not the user's: it is not shown.
Network parse_line(const std::string& file, std::size_t number, std::string_view line) try {
  return parse_network(line);
} catch (const Error& error) {
  throw Error(error.subject() + " in " + file, "line " + std::to_string(number), error.remedy());
}

/// Reads the only line that is neither empty nor a comment.
Network read_file(const std::string& name) {
  const std::string text = read_small_file("network file", name, kMaxBytes);
  std::size_t number = 0;
  std::size_t found = 0;
  Network network;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
    if (line.empty() || line.front() == '#') continue;
    if (++found == 1) network = parse_line(name, number, line);
  }
  if (found == 1) return network;
  throw Error("network file " + name, std::to_string(found) + " lines with costs",
              "one, as in alpha=50us,beta=8ns");
}

}  // namespace

Network read_network(std::string_view text) {
  if (text.empty() || text.front() != '@') return parse_network(text);
  return read_file(std::string(text.substr(1)));
}

Network default_network() {
  if (const auto text = environment(kNetworkVariable)) {
    try {
      if (text->front() == '@') return read_file(from_first_folder(text->substr(1)));
      return read_network(*text);
    } catch (const Error& error) {
      report_unused(kNetworkVariable, error.what());
    }
  }
  const auto rules = default_rules();
  return rules ? rules->network.value_or(Network{}) : Network{};
}

namespace {

constexpr const char* kRulesVariable = "LATECOMER_RULES";

/// The file as this process has read it: what is compared is what is used.
struct RulesFile {
  std::string name;  // "": the variable is not set
  std::string text;
  std::string obstacle;  // why it cannot be read
};

RulesFile read_file() {
  RulesFile file{environment(kRulesVariable).value_or(""), "", ""};
  if (file.name.empty()) return file;
  try {
    file.text = read_small_file("rules file", from_first_folder(file.name), kMaxRulesBytes);
  } catch (const Error& error) {
    file.obstacle = error.what();
  }
  return file;
}

const RulesFile& rules_file() {
  static const auto& file = *new RulesFile(read_file());
  return file;
}

std::shared_ptr<const UserRules> parse() {
  const RulesFile& file = rules_file();
  if (file.name.empty()) return nullptr;
  std::string why = file.obstacle;
  if (why.empty()) {
    try {
      return std::make_shared<const UserRules>(read_rules(file.text, "rules file " + file.name));
    } catch (const Error& error) {
      why = error.what();
    }
  }
  report_unused(kRulesVariable, why);
  return nullptr;
}

}  // namespace

std::shared_ptr<const UserRules> default_rules() {
  static const auto& rules = *new std::shared_ptr<const UserRules>(parse());
  return rules;
}

std::uint64_t hash_of_default_rules() {
  const RulesFile& file = rules_file();
  if (file.name.empty()) return 0;
  return fnv1a(file.obstacle.empty() ? "text" + file.text : "no text");
}

}  // namespace latecomer
