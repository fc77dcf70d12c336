#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "bindings.h"
#include "packhorse/reader/batch_fields.h"
#include "packhorse/reader/mix.h"

namespace packhorse::python {

/// An array over memory that `kept` owns. `strides`, in numbers: null where they are one after the
/// other.
template <class Owner>
nb::ndarray<nb::numpy> array_over(void* memory, std::span<const std::size_t> shape,
                                  nb::dlpack::dtype type, Owner kept,
                                  const std::int64_t* strides = nullptr) {
  auto* owned = new Owner(std::move(kept));
  const nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Owner*>(p); });
  import_numpy();
  return {memory, shape.size(), shape.data(), owner, strides, type};
}

/// Fields of the first `size` samples by their names: an array, or a list of str, or of bytes; None
/// where a sample has none.
nb::dict field_values(std::vector<reader::BatchField> fields, std::size_t size);

/// Soft targets float32 [batch, classes], the partners' labels int64 [batch], and lambda. Takes
/// them out of `mixed`.
nb::tuple mixed_labels(reader::MixedLabels& mixed, std::size_t size);

}  // namespace packhorse::python
