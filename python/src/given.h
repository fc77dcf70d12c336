#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bindings.h"

namespace packhorse::python {

/// Keyword arguments that were given, by their names. Paths are bytes.
class Given {
 public:
  explicit Given(const nb::dict& values) : values_(values) {}

  bool has(const char* name) const { return values_.contains(name); }
  nb::object operator[](const char* name) const { return nb::object(values_[name]); }

  /// Puts the value in `to`, if it was given. Throws TypeError with its name when it is of another
  /// type.
  template <class Value>
  void take(const char* name, Value& to) const {
    if (!has(name)) return;
    if (!nb::try_cast<Value>((*this)[name], to))
      throw nb::type_error((std::string(name) + ": of the wrong type, or out of range").c_str());
  }
  std::string text(const char* name) const {
    std::string value;
    take(name, value);
    return value;
  }
  std::filesystem::path path(const char* name) const {
    nb::bytes value("", 0);
    take(name, value);
    return std::string(value.c_str(), value.size());
  }

 private:
  const nb::dict& values_;
};

}  // namespace packhorse::python
