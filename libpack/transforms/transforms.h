#pragma once

#include <memory>

#include "transforms/transform.h"

/// Private to libpack: the transforms that libpack/transforms/transform.cc lists.
namespace packhorse::transforms {

std::unique_ptr<Transform> make_roi(const TransformOptions& options);
std::unique_ptr<Transform> make_resize(const TransformOptions& options);
std::unique_ptr<Transform> make_lossless(const TransformOptions& options);
std::unique_ptr<Transform> make_raw(const TransformOptions& options);

/// Throws Error(kUnsupported) when the image is decoded pixels: there is no file to work on.
void refuse_pixels(const ImageInfo& info, std::string_view mode);

}  // namespace packhorse::transforms
