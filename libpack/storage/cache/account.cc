#include "storage/cache/account.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "base/json.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostAccountBytes = 512;
constexpr int kAccountVersion = 1;

[[noreturn]] void refuse_other_account() {
  throw Error(ErrorKind::kUsage, "this is no cache of packhorse", {},
              "choose another directory, or remove this one");
}

}  // namespace

std::string account_text(const CacheAccount& account) {
  std::array<char, 128> text{};
  const int length = std::snprintf(
      text.data(), text.size(), "{\"packhorse_cache\": %d, \"most\": %20llu, \"stored\": %20llu}\n",
      kAccountVersion, static_cast<unsigned long long>(account.most),
      static_cast<unsigned long long>(account.stored));
  return {text.data(), static_cast<std::size_t>(length)};
}

bool is_begun_account(std::string_view text) {
  const std::string whole = account_text({});
  const auto is_number = [](char c) { return c == ' ' || (c >= '0' && c <= '9'); };
  return text.size() < whole.size() &&
         std::equal(text.begin(), text.end(), whole.begin(),
                    [&](char a, char b) { return a == b || (is_number(a) && is_number(b)); });
}

CacheAccount parse_account(std::string_view text) {
  ExactJson json;
  try {
    json = parse_json(text, {.bytes = kMostAccountBytes, .depth = 2, .members = 16});
    const int version = json.at("packhorse_cache").get<int>();
    if (version != kAccountVersion) {
      throw Error(ErrorKind::kUnsupported,
                  "the cache has version " + std::to_string(version) +
                      ", which this version of packhorse does not know",
                  {}, "use a newer packhorse, or another directory");
    }
    return {json.at("most").get<std::uint64_t>(), json.at("stored").get<std::uint64_t>()};
  } catch (const ExactJson::exception&) {
    refuse_other_account();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUnsupported && !error.advice().empty()) throw;
    refuse_other_account();
  }
}

LockedAccount::LockedAccount(UniqueFd fd, fs::path path)
    : path_(std::move(path)), fd_(std::move(fd)), lock_(fd_.get(), {0, 1}, path_) {
  const std::uint64_t bytes = file_size(fd_.get(), path_);
  std::string text(std::min<std::uint64_t>(bytes, kMostAccountBytes + 1), '\0');
  read_exactly(fd_.get(), 0, std::as_writable_bytes(std::span(text)), path_);
  if (is_begun_account(text)) return;
  try {
    account_ = parse_account(text);
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(), path_, error.advice());
  }
}

void LockedAccount::put(const CacheAccount& account) {
  const std::string text = account_text(account);
  write_exactly(fd_.get(), 0, as_bytes(text), path_);
  // Somebody may have written it in another form.
  if (file_size(fd_.get(), path_) != text.size() &&
      ::ftruncate(fd_.get(), static_cast<off_t>(text.size())) != 0)
    throw_errno("write to", path_);
  account_ = account;
}

}  // namespace packhorse
