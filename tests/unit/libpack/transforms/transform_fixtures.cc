#include "transform_fixtures.h"

#include "codecs/image_header.h"

namespace packhorse::test {

Outcome transform(std::string_view mode, Bytes file, const ImageInfo& info,
                  const TransformOptions& options) {
  options.validate();
  Outcome outcome;
  outcome.info = info;
  std::vector<std::byte> output{std::byte{1}, std::byte{2}};  // its old content must not matter
  const Transformed made = find_transform(mode).make(options)->apply(file, outcome.info, output);
  outcome.bytes.assign(made.bytes.begin(), made.bytes.end());
  outcome.note = made.note;
  return outcome;
}

Outcome transform(std::string_view mode, Bytes file, const TransformOptions& options) {
  return transform(mode, file, probe_image(file).info.value(), options);
}

File with_scans(const File& progressive, std::size_t scans) {
  const std::string_view text = as_text(progressive);
  std::size_t at = 0;
  for (std::size_t i = 0; i <= scans; ++i) at = text.find("\xff\xda", at + 1);
  REQUIRE(at != std::string_view::npos);
  // The tables of the next scan come before it.
  File file(progressive.begin(), progressive.begin() + static_cast<std::ptrdiff_t>(at));
  file.insert(file.end(), {std::byte{0xff}, std::byte{0xd9}});
  return file;
}

}  // namespace packhorse::test
