#pragma once

#include <vector>

#include "jpeg/encode/scan_coder.h"
#include "packhorse/image/image_info.h"

/// The lossless transcode without libjpeg.
namespace packhorse::encode {

/// Does what transcode() does, with the same bytes, for JPEGs that packhorse::jpeg decodes, as it
/// does nearly all. Coefficients go from its decoder to `coder` a row of MCUs at a time, which
/// takes less time than holding them all as libjpeg does. Returns false, with `output` undefined,
/// for all other files, damaged ones among them. Keeps memory for each thread.
bool transcode_direct(Bytes file, const ImageInfo& info, int restart_mcus,
                      std::size_t max_code_bits, ScanCoder& coder, std::vector<std::byte>& output);

}  // namespace packhorse::encode
