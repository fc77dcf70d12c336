#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/http/credentials.h"
#include "storage/http/credentials/profile.h"

/// The sources that the chain asks, one after the other. Each returns nothing when it is not set
/// up, and throws when it is, but gives no credentials.
namespace packhorse {

std::optional<Credentials> from_environment(const Surroundings& around);

/// Keys that stand in the profile. Throws Error(kUnsupported) for a profile that takes on a role by
/// another profile's keys, or logs in (SSO): keys beside that would be somebody else's.
std::optional<Credentials> from_profile_keys(const Surroundings& around, const Profile& profile);

/// A token that a cluster wrote into a file, exchanged for credentials by AWS's token service
/// (AssumeRoleWithWebIdentity,
/// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html). Named
/// by variables, or by the profile.
std::optional<Credentials> from_web_identity_variables(const Surroundings& around,
                                                       const CredentialFetch& fetch,
                                                       const Profile& profile);
std::optional<Credentials> from_web_identity_profile(const Surroundings& around,
                                                     const CredentialFetch& fetch,
                                                     const Profile& profile);

/// What the program that the profile names prints
/// (https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html).
std::optional<Credentials> from_process(const Surroundings& around, const Profile& profile);

/// ECS and EKS (https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html).
std::optional<Credentials> from_container(const Surroundings& around, const CredentialFetch& fetch);

/// EC2's metadata, IMDSv2. When nothing is returned, `why_not` says why.
std::optional<Credentials> from_instance(const Surroundings& around, const CredentialFetch& fetch,
                                         std::string& why_not);

/// A command line as a shell takes it apart: white space, quotes, backslashes, and nothing else.
/// Throws Error(kUsage) for a quote without its end.
std::vector<std::string> split_command(std::string_view text);

}  // namespace packhorse
