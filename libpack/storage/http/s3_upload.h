#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "packhorse/base/bytes.h"

/// The texts of S3's uploads in parts
/// (https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html).
namespace packhorse {

/// The size of the parts of an object of `bytes` bytes: at least 8 MiB, and 10,000 parts at most.
std::uint64_t part_bytes(std::uint64_t bytes);

/// The name of an upload that has begun. Throws Error(kCorrupt) for what is no such answer.
std::string parse_upload_id(Bytes xml, const std::string& shown);

/// An upload that has begun and not ended.
struct BegunUpload {
  std::string key, id;
};
/// A page of their list.
struct BegunUploads {
  std::vector<BegunUpload> uploads;
  std::string next_key, next_id;  ///< behind which the next page begins; empty: there is none
};
/// None for what is no list of them, as it only serves to clear up.
BegunUploads parse_uploads(Bytes xml);

/// What completes an upload: the tags of its parts, in their order, as the storage gave them.
std::string completion_text(std::span<const std::string> tags);

}  // namespace packhorse
