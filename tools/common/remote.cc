#include "common/remote.h"

#include <algorithm>

#include "common/program.h"
#include "packhorse/base/error.h"
#include "packhorse/base/file.h"
#include "packhorse/storage/cache.h"

namespace packhorse::program {

void RemoteArguments::setup(CLI::App& app) {
  constexpr const char* kGroup = "Datasets at URLs (https, s3)";
  const auto add = [&](CLI::Option* option) {
    option->group(kGroup);
    declared_.push_back(option);
    return option;
  };
  add(app.add_option("--cache", cache_,
                     "Directory that keeps what was fetched, for all processes of this machine; "
                     "default: $XDG_CACHE_HOME/packhorse or ~/.cache/packhorse"))
      ->type_name("DIR");
  add(add_size(app, "--cache-size", options_.cache_bytes,
               "What the cache may hold, e.g. 200GB; what was used least recently goes first"));
  add(app.add_flag("--no-cache", no_cache_, "Keep what was fetched in memory alone"));
  add(app.add_option("--endpoint", options_.storage.endpoint,
                     "s3: where the storage is, if not at AWS, e.g. http://localhost:8333"))
      ->type_name("URL");
  add(app.add_option("--region", options_.storage.region, "s3: the bucket's region"));
  add(app.add_flag("--no-sign-request", options_.storage.anonymous,
                   "s3: do not sign requests, for public buckets"));
  add(app.add_option("--url-command", options_.storage.url_command,
                     "Command that prints a signed URL for the name of a file, its last argument"))
      ->delimiter(' ')
      ->type_name("COMMAND");
}

bool RemoteArguments::enable(const std::vector<std::string>& paths) const {
  if (std::none_of(paths.begin(), paths.end(), is_url)) {
    for (const CLI::Option* option : declared_) {
      if (option->count() > 0)
        throw Error(ErrorKind::kUsage,
                    option->get_name() + " has no effect: nothing that is read lies at a URL", {},
                    "leave it out");
    }
    return false;
  }
  RemoteOptions options = options_;
  if (!no_cache_)
    options.cache = cache_.empty() ? default_cache_directory() : std::filesystem::path(cache_);
  enable_remote(options);
  return true;
}

}  // namespace packhorse::program
