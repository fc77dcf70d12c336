#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "jpeg/encode/scan_coder.h"
#include "packhorse/image/image_info.h"

/// The lossless transcode, which both `roi` and `resize` do.
namespace packhorse::encode {

/// Why a file stays as it is under `roi`; none when it can be transcoded.
std::optional<std::string_view> reason_to_keep(Bytes file, const ImageInfo& info);

/// Replaces `output` with the same picture, coefficient for coefficient, as baseline JPEG with
/// restart markers and the table of roi_layout.h. Keeps APPn and comment segments, byte for byte;
/// drops what follows the end mark, and the index of it. `max_code_bits`: as in optimal_table();
/// fewer than 16 gain nothing (docs/design.md). Throws Error(kCorrupt) when libjpeg warns. Returns
/// false, with `output` undefined, for a progressive JPEG with missing scans: decoders turn its
/// coefficients into other pixels than the same coefficients in one scan.
bool transcode(Bytes file, const ImageInfo& info, int restart_mcus, std::vector<std::byte>& output,
               std::size_t max_code_bits = kMaxCodeBits);

/// The same through libjpeg, whatever the file: for those that packhorse::jpeg does not take, and
/// to say what is wrong with damaged ones.
bool transcode_by_libjpeg(Bytes file, const ImageInfo& info, int restart_mcus,
                          std::size_t max_code_bits, ScanCoder& coder,
                          std::vector<std::byte>& output);

// The lossless transcode without libjpeg.

/// Does what transcode() does, with the same bytes, for JPEGs that packhorse::jpeg decodes, as it
/// does nearly all. Coefficients go from its decoder to `coder` a row of MCUs at a time, which
/// takes less time than holding them all as libjpeg does. Returns false, with `output` undefined,
/// for all other files, damaged ones among them. Keeps memory for each thread.
bool transcode_direct(Bytes file, const ImageInfo& info, int restart_mcus,
                      std::size_t max_code_bits, ScanCoder& coder, std::vector<std::byte>& output);

}  // namespace packhorse::encode
