#include "reading.hpp"

#include <cerrno>
#include <cstdlib>

namespace bench {

void refuse(const std::string& name, const std::string& value, const char* remedy) {
  throw UsageError(name + ": '" + value + "' is not usable; right would be " + remedy);
}

std::int64_t whole(const std::string& name, const std::string& text, std::int64_t least,
                   std::int64_t most) {
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || errno == ERANGE || value < least || value > most) {
    refuse(
        name, text,
        ("a whole number from " + std::to_string(least) + " to " + std::to_string(most)).c_str());
  }
  return value;
}

int whole_int(const std::string& name, const std::string& text, int least) {
  return static_cast<int>(whole(name, text, least, std::numeric_limits<int>::max()));
}

double real(const std::string& name, const std::string& text, double most) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 0 && value <= most)) {
    refuse(name, text, most <= 1 ? "a number from 0 to 1" : "seconds, 0 or more");
  }
  return value;
}

}  // namespace bench
