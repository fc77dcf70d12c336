// Lines of JSON: members of list rows, labels of samples, and what walker processes say.
#include <nlohmann/json.hpp>

#include "base/json_slices.h"
#include "labels/row_reader.h"
#include "labels/shard_labels.h"
#include "support/fuzz.h"
#include "walkers/walk_protocol.h"

using namespace packhorse;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::attempt(data, size, [](Bytes input) {
    const std::string_view text = as_text(input);
    bool valid = true;
    try {
      check_json(text);
    } catch (const Error&) {
      valid = false;
    }
    fuzz::promise(!valid || nlohmann::json::accept(text), "what is JSON, is so for its parser");
    std::vector<JsonMember> members;
    static_cast<void>(json_members(text, members));
    for (const JsonMember& member : members) fuzz::touch(member.text);
    if (const auto label = label_in_json(text)) fuzz::touch(label->text);
    fuzz::touch(label_in_cls(text).text);
    if (const auto task = parse_task(text)) fuzz::touch(task_line(task->first, task->second));
    if (const auto finding = parse_finding(text)) fuzz::touch(finding_line(*finding));
    if (const auto end = parse_end(text)) fuzz::touch(end_line(*end));
  });
}
