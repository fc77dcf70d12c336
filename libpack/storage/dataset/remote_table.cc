#include "storage/dataset/remote_table.h"

#include "base/option_values.h"

namespace packhorse {

std::span<const RemoteOption> remote_options() {
  using enum Option::Kind;
  namespace values = option_values;
  static const std::array<RemoteOption, 8> kTable = {{
      {{.name = "cache",
        .help = "Directory that keeps what was fetched, for all processes of this machine; "
                "default: $XDG_CACHE_HOME/packhorse or ~/.cache/packhorse",
        .kind = kPath,
        .value_name = "DIR"},
       values::plain<RemoteOptions>(PACKHORSE_MEMBER(cache))},
      {{.name = "cache_size",
        .help = "What the cache may hold, e.g. 200GB; what was used least recently goes first",
        .kind = kSize,
        .shows_default = true},
       values::bytes<RemoteOptions>(PACKHORSE_MEMBER(cache_bytes))},
      {{.name = "memory",
        .help = "What is kept in memory without a cache, and may be on its way ahead",
        .kind = kSize,
        .shows_default = true},
       values::bytes<RemoteOptions>(PACKHORSE_MEMBER(memory_bytes))},
      {{.name = "endpoint",
        .help = "s3: where the storage is, if not at AWS, e.g. http://localhost:8333",
        .value_name = "URL"},
       values::plain<RemoteOptions>(PACKHORSE_MEMBER(storage.endpoint))},
      {{.name = "region", .help = "s3: the bucket's region"},
       values::plain<RemoteOptions>(PACKHORSE_MEMBER(storage.region))},
      {{.name = "sign",
        .help = "s3: do not sign requests, for public buckets",
        .kind = kOff,
        .off = "no-sign-request"},
       values::flag<RemoteOptions>(PACKHORSE_MEMBER(storage.anonymous))},
      {{.name = "requester_pays",
        .help = "s3: pay for requests and transfer, where the bucket's owner does not",
        .kind = kFlag},
       values::flag<RemoteOptions>(PACKHORSE_MEMBER(storage.requester_pays))},
      {{.name = "url_command",
        .help = "Command that prints a signed URL for the name of a file, its last argument",
        .kind = kTexts,
        .value_name = "COMMAND"},
       values::plain<RemoteOptions>(PACKHORSE_MEMBER(storage.url_command))},
  }};
  return kTable;
}

}  // namespace packhorse
