#include "reading.hpp"

#include <cstdlib>

namespace bench {

void refuse(const std::string& name, const std::string& value, const char* remedy) {
  throw UsageError(name + ": '" + value + "' is not usable; right would be " + remedy);
}

std::int64_t whole(const std::string& name, const std::string& text, std::int64_t least) {
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < least) {
    refuse(name, text, ("a whole number from " + std::to_string(least) + " up").c_str());
  }
  return value;
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
