// An environment variable that has another value while the object lives.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

#include "runtime/settings/environment.hpp"

namespace latecomer::testing {

class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* const text = std::getenv(name)) before_ = text;
    setenv(name, value.c_str(), 1);
    note_surroundings();
  }
  ~Variable() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
    note_surroundings();
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace latecomer::testing
