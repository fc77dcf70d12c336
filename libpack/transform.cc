#include "packhorse/transform.h"

#include <array>

#include "packhorse/error.h"

namespace packhorse {

namespace {

class Original final : public Transform {
 public:
  Transformed apply(Bytes input, ImageInfo&, std::vector<std::byte>&) const override {
    return {input, {}};
  }
};

constexpr std::array kTransforms = {
    TransformKind{"original", "every byte as it was in the source",
                  [](const TransformOptions&) -> std::unique_ptr<Transform> {
                    return std::make_unique<Original>();
                  },
                  [](const TransformOptions&) { return std::string(); },
                  [](const TransformOptions&, std::uint64_t input) { return input; }},
};

}  // namespace

void TransformOptions::validate() const {}

std::span<const TransformKind> all_transforms() { return kTransforms; }

const TransformKind& find_transform(std::string_view name) {
  std::string names;
  for (const TransformKind& kind : all_transforms()) {
    if (kind.name == name) return kind;
    names += (names.empty() ? "" : ", ") + std::string(kind.name);
  }
  throw Error(ErrorKind::kUsage, "there is no image mode '" + std::string(name) + "'", {},
              "choose one of: " + names);
}

}  // namespace packhorse
