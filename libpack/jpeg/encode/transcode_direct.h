#pragma once

#include <vector>

#include "jpeg/encode/scan_coder.h"
#include "packhorse/image/image_info.h"

/// The lossless transcode without libjpeg.
namespace packhorse::encode {

/// What transcode() does, of a JPEG that packhorse::jpeg decodes: nearly all are. Coefficients go
/// from its decoder to `coder` a row of MCUs at a time, which takes less time than libjpeg's
/// memory of them all. The same bytes. False: none of its files, damaged ones among them, and
/// `output` is undefined. Keeps memory for each thread.
bool transcode_direct(Bytes file, const ImageInfo& info, int restart_mcus,
                      std::size_t max_code_bits, ScanCoder& coder, std::vector<std::byte>& output);

}  // namespace packhorse::encode
