#include "sources/list/listed_urls.h"

#include <utility>

#include "dataset/url.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

/// "/https/host" and "a/b.jpg" of "/https/host/a/b.jpg".
std::pair<std::string, std::string> parts_of(const std::string& path) {
  const std::size_t host = path.find('/', 1) + 1, name = path.find('/', host) + 1;
  return {path.substr(0, name - 1), path.substr(name)};
}

}  // namespace

std::string ListedUrls::path_of(const std::string& url, Problem& problem) try {
  const Url parsed = parse_url(url);
  // parse_url() takes such slashes away, and what is decoded could not be told from them.
  const std::string_view path =
      std::string_view(url).substr(std::min(url.size(), url.find('/', url.find("://") + 3)));
  if (path.find("//") != std::string_view::npos || path.ends_with('/') ||
      path.find("%2f") != std::string_view::npos || path.find("%2F") != std::string_view::npos)
    problem = {Reason::kBadPath,
               "a URL with an empty part, a slash at its end, or one that is encoded"};
  if (!parsed.query.empty()) {
    problem = {Reason::kBadPath, "a URL with a query, which may be a secret, and would be stored"};
  } else if (parsed.path.empty()) {
    problem = {Reason::kBadPath, "a URL of a host, not of an image"};
  }
  return "/" + parsed.scheme + "/" + parsed.host + "/" + parsed.path;
} catch (const Error& error) {
  if (error.kind() != ErrorKind::kUsage) throw;
  problem = {Reason::kBadPath, error.what()};
  return {};
}

RemoteFiles& ListedUrls::files_of(const std::string& path) {
  const std::string host = parts_of(path).first;
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<RemoteFiles>& files = hosts_[host];
  if (!files) {
    const std::size_t scheme_end = host.find('/', 1);
    files = open_remote(host.substr(1, scheme_end - 1) + "://" + host.substr(scheme_end + 1));
  }
  return *files;
}

RemoteFile ListedUrls::look(const std::string& path, Problem& problem) try {
  return files_of(path).look(parts_of(path).second);
} catch (const Error& error) {
  if (error.kind() != ErrorKind::kNotFound) throw;
  problem = {Reason::kNotThere, "there is nothing at this URL"};
  return {};
}

std::uint64_t ListedUrls::add(const std::string& path, RemoteFile object, std::uint64_t row) {
  rows_.push_back(row);
  return reader_.add(files_of(path), std::move(object));
}

}  // namespace packhorse
