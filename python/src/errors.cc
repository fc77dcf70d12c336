#include <algorithm>
#include <array>
#include <exception>
#include <vector>

#include "base/option.h"
#include "base/printable.h"
#include "bindings.h"
#include "packhorse/base/error.h"

namespace packhorse::python {

namespace {

const char* name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return "UsageError";
    case ErrorKind::kNotFound:
      return "NotFoundError";
    case ErrorKind::kExists:
      return "ExistsError";
    case ErrorKind::kIo:
      return "StorageError";
    case ErrorKind::kNoSpace:
      return "NoSpaceError";
    case ErrorKind::kCorrupt:
      return "CorruptError";
    case ErrorKind::kRejected:
      return "RejectedError";
    case ErrorKind::kUnsupported:
      return "UnsupportedError";
    case ErrorKind::kInterrupted:
      return "InterruptedError";
  }
  return "Error";
}

/// Bytes that may be no UTF-8, as os.fsdecode() makes a str of them.
nb::object file_system_text(const std::string& bytes) {
  return nb::steal(
      PyUnicode_DecodeFSDefaultAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
}

void raise(const Error& error) {
  const nb::object type = nb::module_::import_("packhorse.errors").attr(name_of(error.kind()));
  const nb::object raised = type(file_system_text(spelled(error.what())),
                                 file_system_text(without_secrets(error.path().native())),
                                 file_system_text(spelled(error.advice())),
                                 file_system_text(without_secrets(error.key())),
                                 nb::str(std::string(code_of(error.reason())).c_str()));
  PyErr_SetObject(type.ptr(), raised.ptr());
}

/// A word in capitals and a number are bare: the reader puts something there.
std::string literal(std::string_view value) {
  constexpr std::string_view kBare = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  if (value.find_first_not_of(kBare) == value.npos) return std::string(value);
  std::string text = "'";
  for (const char c : value) text.append(c == '\'' || c == '\\' ? 1 : 0, '\\') += c;
  return text + "'";
}

/// What a command is in Python, or nothing: then it is run in a shell.
std::string function_of(const CommandCall& call) {
  constexpr std::array kSame = {"copy", "index", "pack", "unpack"};
  if (call.command == "inspect" && !call.options.empty() && call.options.front().first == "verify")
    return "verify";
  return std::ranges::count(kSame, call.command) > 0 ? call.command : std::string();
}

std::string shell_text(const CommandCall& call) {
  std::string line = shell_command(call.command);
  for (const std::string& argument : call.arguments) line += " " + argument;
  for (const auto& [name, value] : call.options) {
    std::string flag = name;
    std::ranges::replace(flag, '_', '-');
    line += " --" + flag + (value == "true" ? "" : " " + value);
  }
  return line;
}

}  // namespace

std::string keyword_text(std::string_view name, std::string_view value) {
  const std::string given = value == "true" ? "True" : value == "false" ? "False" : literal(value);
  return std::string(name) + "=" + given;
}

std::string call_text(const CommandCall& call) {
  const std::string function = function_of(call);
  if (function.empty()) return shell_text(call);
  std::vector<std::string> inside;
  for (const std::string& argument : call.arguments) inside.push_back(literal(argument));
  for (const auto& [name, value] : call.options) {
    const std::string key = name + "=", given = opt(name, value);
    if (given == "verify='full'") continue;
    if (inside.empty() || !inside.back().starts_with(key)) {
      inside.push_back(given);
    } else {  // one of several: a list
      std::string& all = inside.back();
      if (!all.ends_with(']')) all = key + "[" + all.substr(key.size()) + "]";
      all.replace(all.size() - 1, 1, ", " + given.substr(key.size()) + "]");
    }
  }
  std::string text;
  for (const std::string& one : inside) text += (text.empty() ? "" : ", ") + one;
  return "packhorse." + function + "(" + text + ")";
}

void translate_errors() {
  static constexpr OptionSpelling kKeywords = {keyword_text, call_text};
  spell_options(&kKeywords);
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      raise(error);
    } catch (const std::filesystem::filesystem_error& error) {
      raise(error_of(error));
    }
  });
}

}  // namespace packhorse::python
