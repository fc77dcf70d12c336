#pragma once

#include <string>

#include "packhorse/image/image_info.h"

/// What the parts of `packhorse inspect` have in common: each is a class with setup(), wanted() and
/// run(), which command_inspect.cc collects.
namespace packhorse::inspect {

/// Options that more than one part looks at. Outlives them.
struct Request {
  std::string path;  ///< as typed: a dataset, or a directory of splits
  int jobs = 0;      ///< threads; 0 = as many as this process may use
  bool json = false;
  ImageLimits limits = {};  ///< of images that are decoded
};

}  // namespace packhorse::inspect
