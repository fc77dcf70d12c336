#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "storage/http/credentials/profile.h"

/// Where a service of AWS's is, or one that stands in for it.
namespace packhorse {

/// By AWS_REGION, AWS_DEFAULT_REGION or the profile; else "us-east-1". Throws Error(kUsage) for one
/// that cannot be part of a host's name.
std::string region_of(const Surroundings& around, const Profile& profile);
void check_region(const std::string& region, const std::string& where);

/// An endpoint that was set, as a URL without a slash at its end, and whose it is.
/// `service` is "s3" or "sts"; nothing: that of AWS. Throws Error(kUsage).
std::optional<std::string> endpoint_of(const Surroundings& around, const Profile& profile,
                                       const std::string& service);
/// `where` the text comes from, for messages.
std::string checked_endpoint(const std::string& text, const std::string& where);

/// "https://s3.eu-west-1.amazonaws.com"
std::string aws_endpoint(const std::string& service, const std::string& region);

}  // namespace packhorse
