#include "transform_fixtures.h"

namespace packhorse::test {

Outcome transform(std::string_view mode, Bytes file, const ImageInfo& info,
                  const TransformOptions& options) {
  options.validate();
  Outcome outcome;
  outcome.info = info;
  std::vector<std::byte> output{std::byte{1}, std::byte{2}};  // what is in it must not matter
  const Transformed made = find_transform(mode).make(options)->apply(file, outcome.info, output);
  outcome.bytes.assign(made.bytes.begin(), made.bytes.end());
  outcome.note = made.note;
  return outcome;
}

Outcome transform(std::string_view mode, Bytes file, const TransformOptions& options) {
  return transform(mode, file, probe_image(file).info.value(), options);
}

}  // namespace packhorse::test
