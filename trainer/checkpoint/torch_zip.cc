#include <ATen/ops/empty.h>
#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>

#include "base/file.h"
#include "checkpoint/unpickle.h"
#include "checkpoint/weight_files.h"
#include "packhorse/base/error.h"

namespace packhorse::trainer {
namespace {

struct ArchiveFree {
  void operator()(archive* reader) const { archive_read_free(reader); }
};

/// Reads the members by name, as bytes, without the folder that holds them all. libarchive checks
/// their CRCs, which LibTorch's own reader of these files does not.
std::map<std::string, at::Tensor> read_members(const std::filesystem::path& path) {
  const UniqueFd fd = open_for_reading(path);
  const std::unique_ptr<archive, ArchiveFree> reader(archive_read_new());
  const auto check = [&](long long status) {
    if (status >= ARCHIVE_OK) return status;
    const char* why = archive_error_string(reader.get());
    throw std::runtime_error(why != nullptr ? why : "it is not a zip file");
  };
  archive_read_support_format_zip_seekable(reader.get());
  constexpr std::uint64_t kBlock = std::uint64_t{1} << 20;
  // torch.save() compresses nothing: a file that unpacks to more than its size is not one of its
  // files.
  std::uint64_t left = file_size(fd.get(), path);
  check(archive_read_open_fd(reader.get(), fd.get(), std::clamp<std::uint64_t>(left, 1, kBlock)));
  std::map<std::string, at::Tensor> members;
  for (archive_entry* entry = nullptr;
       check(archive_read_next_header(reader.get(), &entry)) == ARCHIVE_OK;) {
    const char* const full_name = archive_entry_pathname(entry);
    if (full_name == nullptr) throw std::runtime_error("a name in it is not text");
    const std::string name = full_name;
    const auto size = archive_entry_size(entry);
    if (size < 0 || static_cast<std::uint64_t>(size) > left) {
      throw std::runtime_error("'" + name + "' in it is larger than the file");
    }
    left -= static_cast<std::uint64_t>(size);
    auto bytes = at::empty({size}, at::kByte);
    auto* out = bytes.mutable_data_ptr<std::uint8_t>();
    std::size_t done = 0;
    while (done < bytes.nbytes()) {
      const auto read = check(archive_read_data(reader.get(), out + done, bytes.nbytes() - done));
      if (read == 0) throw std::runtime_error("'" + name + "' in it is truncated");
      done += static_cast<std::size_t>(read);
    }
    std::uint8_t beyond = 0;  // libarchive compares the CRC only when reading reaches the end
    check(archive_read_data(reader.get(), &beyond, 1));
    members[name.substr(name.find('/') + 1)] = bytes;
  }
  return members;
}

}  // namespace

c10::IValue read_torch_zip(const std::filesystem::path& path) {
  const auto members = read_members(path);
  const auto find = [&](const std::string& name) -> const at::Tensor& {
    const auto found = members.find(name);
    if (found == members.end()) throw std::runtime_error("'" + name + "' is missing");
    return found->second;
  };
  const at::Tensor& pickle = find("data.pkl");
  if (members.contains("byteorder") && find("byteorder").nbytes() != 6) {  // "little", not "big"
    throw Error(ErrorKind::kUnsupported, "these weights come from a big-endian machine", path,
                "save them again on a little-endian machine");
  }
  return unpickle(Bytes(static_cast<const std::byte*>(pickle.const_data_ptr()), pickle.nbytes()),
                  [&](const std::string& key) { return find("data/" + key).storage(); });
}

}  // namespace packhorse::trainer
