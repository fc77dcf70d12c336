// Texts about storage: URLs, AWS's files of profiles, answers with credentials; the first byte says
// which.
#include <array>

#include "dataset/url.h"
#include "storage/http/credentials.h"
#include "storage/http/credentials/sources.h"
#include "support/fuzz.h"

using namespace packhorse;

namespace {

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

void look_at_url(std::string_view text) {
  const Url url = parse_url(text);
  const std::string inside = "/" + url.path + "/";
  fuzz::promise(!holds(inside, "/../") && !holds(inside, "/./"), "a path only goes down");
  fuzz::promise(!url.path.starts_with('/') && !url.path.ends_with('/'), "no slashes at its ends");
  fuzz::promise(!holds(url.host, "@") && !holds(url.host, "/") && !holds(url.host, "\\"),
                "a host is one");
  fuzz::promise(!url.shown().empty(), "a URL can be shown");
  std::string again = url.scheme + "://" + url.host + "/" + percent_encoded(url.path, true);
  if (!url.query.empty()) again += "?" + url.query;
  try {
    fuzz::promise(parse_url(again) == url, "a URL that is written anew is the same");
  } catch (const Error&) {
    fuzz::promise(again.size() > text.size(), "it may be too long, encoded");
  }
}

void look_at_profiles(std::string_view text) {
  for (const auto& [part, settings] : parse_ini(text)) {
    fuzz::promise(!part.empty(), "a part has a name");
    for (const auto& [name, value] : settings) {
      fuzz::promise(!name.empty() && !holds(name, "="), "a setting has a name");
      if (name == "credential_process") split_command(value);
    }
  }
}

void look_at_answer(std::string_view text) {
  const CredentialFields fields = fields_in_json(text, "Token", "it");
  const Credentials credentials = checked_credentials(fields, "it", {});
  fuzz::promise(!credentials.access_key.empty() && !credentials.secret_key.empty(), "two keys");
  for (const std::string& key :
       {credentials.access_key, credentials.secret_key, credentials.session_token})
    fuzz::promise(key.find_first_of("\r\n ") == std::string::npos, "a key fits a header");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr std::array kParsers = {look_at_url, look_at_profiles, look_at_answer};
  return fuzz::attempt(data + 1, size - 1,
                       [&](Bytes input) { kParsers[data[0] % kParsers.size()](as_text(input)); });
}
