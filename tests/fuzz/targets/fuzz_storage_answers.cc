// What storages answer: faults, lists and uploads in XML, headers about ranges and waiting; the
// first byte says which.
#include <array>

#include "storage/http/answers.h"
#include "storage/http/s3_xml.h"
#include "support/fuzz.h"

using namespace packhorse;

namespace {

constexpr std::size_t kMostShown = 1000;  // bytes of a text that is for messages

void look_at_fault(Bytes input) {
  const S3Fault fault = parse_s3_fault(input);
  for (const std::string& text : {fault.code, fault.message}) {
    fuzz::promise(text.size() <= kMostShown, "a message is short");
    for (const char c : text)
      fuzz::promise(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F, "and printable");
  }
  HttpResponse answer;
  answer.status = 503;
  answer.body.assign(input.begin(), input.end());
  fuzz::promise(judge_answer(answer, "s3://b/p").error != nullptr, "a fault is an error");
}

void look_at_list(Bytes input) {
  for (const ListedObject& object : parse_list_page(input, "p/", "s3://b/p").objects) {
    fuzz::promise(object.name.starts_with("p/"), "only what was asked for is listed");
    fuzz::promise(!object.name.ends_with('/'), "folders are no objects");
  }
}

void look_at_range(Bytes input) {
  const auto range = parse_content_range(as_text(input));
  if (!range) return;
  fuzz::promise(range->first <= range->last && range->last < range->total, "a range lies inside");
}

void look_at_retry_after(Bytes input) {
  const auto now = std::chrono::system_clock::time_point(std::chrono::seconds(1'369'353'600));
  const auto pause = parse_retry_after(as_text(input), now);
  if (!pause) return;
  fuzz::promise(pause->count() >= 0 && *pause <= std::chrono::hours(24), "a day at most");
}

void look_at_begun(Bytes input) {
  fuzz::promise(!parse_upload_id(input, "s3://b/p").empty(), "an upload has a name");
}

void look_at_uploads(Bytes input) {
  for (const BegunUpload& upload : parse_uploads(input).uploads)
    fuzz::promise(!upload.id.empty(), "an upload has a name");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr std::array kParsers = {look_at_fault,       look_at_list,  look_at_range,
                                   look_at_retry_after, look_at_begun, look_at_uploads};
  return fuzz::attempt(data + 1, size - 1,
                       [&](Bytes input) { kParsers[data[0] % kParsers.size()](input); });
}
