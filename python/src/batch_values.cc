#include "batch_values.h"

#include <optional>
#include <string>

namespace packhorse::python {

namespace {

/// Of a type as NumPy's files have it: "<f4".
nb::dlpack::dtype numpy_type(const std::string& npy) {
  using Code = nb::dlpack::dtype_code;
  const char kind = npy.at(1);
  const Code code = kind == 'b'   ? Code::Bool
                    : kind == 'u' ? Code::UInt
                    : kind == 'i' ? Code::Int
                                  : Code::Float;
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * (npy.at(2) - '0')), 1};
}

/// A field of the first `size` samples: an array, or a list of str or bytes.
nb::object field_value(reader::BatchField& field, std::size_t size) {
  if (!field.type.empty()) {
    std::vector<std::size_t> shape{size};
    shape.insert(shape.end(), field.shape.begin(), field.shape.end());
    return nb::cast(array_over(field.numbers.get(), shape, numpy_type(field.type), field.numbers));
  }
  nb::list made;
  for (std::size_t i = 0; i < size; ++i) {
    const std::optional<std::vector<std::byte>>& value = field.values[i];
    if (!value) {
      made.append(nb::none());
    } else if (field.is_text) {
      made.append(nb::str(reinterpret_cast<const char*>(value->data()), value->size()));
    } else {
      made.append(nb::bytes(value->data(), value->size()));
    }
  }
  return made;
}

}  // namespace

nb::dict field_values(std::vector<reader::BatchField> fields, std::size_t size) {
  nb::dict made;
  for (reader::BatchField& field : fields)
    made[nb::str(field.name.data(), field.name.size())] = field_value(field, size);
  return made;
}

nb::tuple mixed_labels(reader::MixedLabels& mixed, std::size_t size) {
  const std::size_t classes = mixed.targets.size() / size;
  return nb::make_tuple(to_numpy(std::move(mixed.targets), {size, classes}),
                        to_numpy(std::move(mixed.partners), {size}), mixed.lambda);
}

}  // namespace packhorse::python
