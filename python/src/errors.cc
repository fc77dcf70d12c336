#include <exception>

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

}  // namespace

void translate_errors() {
  spell_options([](std::string_view name, std::string_view value) {
    return std::string(name) + "=" + (value == "true" ? "True" : std::string(value));
  });
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
