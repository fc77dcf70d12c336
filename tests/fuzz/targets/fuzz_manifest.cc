// dataset.json, mostly with the matching id: without it the rest is never parsed.
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "packhorse/dataset/manifest.h"
#include "support/fuzz.h"
#include "transforms/transform.h"

namespace {

using namespace packhorse;
using Json = nlohmann::ordered_json;

std::string with_id(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return {};
  try {
    Json content = json;
    content.erase("packhorse");
    content.erase("id");
    json["id"] = sha256(as_bytes(content.dump()));
    return json.dump();
  } catch (const Json::exception&) {  // not UTF-8
    return {};
  }
}

void look_at(std::string_view text) {
  const Manifest manifest = Manifest::parse(text, "dataset.json");
  const std::string again = manifest.serialise();
  fuzz::promise(Manifest::parse(again, "dataset.json").serialise() == again,
                "parsing and serialising a manifest gives the same bytes again");
  fuzz::touch(manifest.sums());
  static_cast<void>(TransformOptions::parse(manifest.image_settings));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::attempt(data, size, [](Bytes input) {
    const std::string text = xxh3(input) % 8 == 0 ? std::string() : with_id(as_text(input));
    look_at(text.empty() ? as_text(input) : text);
  });
}
