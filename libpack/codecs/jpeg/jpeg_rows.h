#pragma once

#include "packhorse/codecs/colour_rows.h"

namespace packhorse::codecs {

/// open_colours() for a JPEG, by libjpeg-turbo. The pixels of a region are those of the whole.
std::unique_ptr<ColourRows> open_jpeg(Bytes file, const ImageInfo& info,
                                      const ColourRequest& request);

}  // namespace packhorse::codecs
