#include "functions/model/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "functions/model/errors.h"
#include "functions/model/limits.h"

namespace cairn::functions {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kEndBytes = 2 * kBlock;
constexpr size_t kNameBytes = 100;
constexpr size_t kPrefixBytes = 155;

size_t Padded(size_t bytes) { return (bytes + kBlock - 1) / kBlock * kBlock; }

// Where a header's fields are.
struct Field {
  size_t at;
  size_t size;
};
constexpr Field kName{0, kNameBytes};
constexpr Field kMode{100, 8};
constexpr Field kUser{108, 8};
constexpr Field kGroup{116, 8};
constexpr Field kSize{124, 12};
constexpr Field kTime{136, 12};
constexpr Field kChecksum{148, 8};
constexpr Field kType{156, 1};
constexpr Field kMagic{257, 8};
constexpr Field kDeviceMajor{329, 8};
constexpr Field kDeviceMinor{337, 8};
constexpr Field kPrefix{345, kPrefixBytes};

void Set(Bytes& header, Field field, std::string_view text) {
  std::ranges::copy(text, header.begin() + static_cast<ptrdiff_t>(field.at));
}

// Digits up to the zero byte that ends the field.
void SetOctal(Bytes& header, Field field, uint64_t value) {
  Set(header, field, fmt::format("{:0{}o}", value, field.size - 1));
}

// Where the path is cut in two: prefix, slash, name. 0 if the name field has room for all of it;
// nullopt if no slash stands right.
std::optional<size_t> PrefixSize(std::string_view path) {
  if (path.size() <= kNameBytes) return 0;
  const size_t slash = path.substr(0, kPrefixBytes + 1).rfind('/');
  if (slash == std::string_view::npos || path.size() - slash - 1 > kNameBytes) return std::nullopt;
  return slash;
}

// Of a path for which PrefixSize has a value.
Bytes Header(std::string_view path, size_t size) {
  Bytes header(kBlock, '\0');
  const size_t prefix = *PrefixSize(path);
  Set(header, kName, prefix == 0 ? path : path.substr(prefix + 1));
  SetOctal(header, kMode, 0644);
  SetOctal(header, kUser, 0);
  SetOctal(header, kGroup, 0);
  SetOctal(header, kSize, size);
  SetOctal(header, kTime, 0);
  Set(header, kType, "0");
  Set(header, kMagic, std::string_view("ustar\00000", 8));
  SetOctal(header, kDeviceMajor, 0);
  SetOctal(header, kDeviceMinor, 0);
  Set(header, kPrefix, path.substr(0, prefix));
  // The sum of all bytes, with blanks where it stands itself.
  Set(header, kChecksum, "        ");
  const auto sum = std::accumulate(header.begin(), header.end(), uint64_t{0},
                                   [](uint64_t total, char c) { return total + uint8_t(c); });
  Set(header, kChecksum, fmt::format("{:06o}", sum));
  header[kChecksum.at + 6] = '\0';
  return header;
}

bool IsPathPart(std::string_view part) {
  const auto allowed = [](char c) { return c > 0x20 && c < 0x7F && c != '\\'; };
  return !part.empty() && part != "." && part != ".." && std::ranges::all_of(part, allowed);
}

Error Invalid(std::string_view text) { return Refuse(Code::kValidation, text); }

Error TooLarge() {
  return Refuse(Code::kBundleTooLarge,
                fmt::format("a bundle may have {} bytes as a tar", kMaxBundleBytes));
}

Result<void> CheckPaths(const Files& files) {
  if (files.size() > kMaxBundleFiles) {
    return Refuse(Code::kTooLarge, fmt::format("a bundle may have {} files", kMaxBundleFiles));
  }
  for (const std::string_view required : {kFunctionFile, kManifestFile}) {
    if (!files.contains(required)) return Invalid(fmt::format("the bundle has no {}", required));
  }
  for (const auto& [path, content] : files) {
    if (!IsBundlePath(path)) {
      return Invalid(
          fmt::format("\"{}\" cannot be the path of a file in a bundle", Printable(path)));
    }
    for (size_t slash = path.find('/'); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      const std::string_view folder = std::string_view(path).substr(0, slash);
      if (files.contains(folder)) {
        return Invalid(fmt::format("{} is a file, and {} stands in it", folder, path));
      }
    }
  }
  return {};
}

// The bytes of an octal field, if it is one that SetOctal could have written.
std::optional<size_t> OctalSize(BytesView field) {
  size_t value = 0;
  for (const char c : field.substr(0, field.size() - 1)) {
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + static_cast<size_t>(c - '0');
  }
  return field.back() == '\0' ? std::optional(value) : std::nullopt;
}

std::string_view UntilZero(BytesView field) { return field.substr(0, field.find('\0')); }

std::string PathOf(BytesView header) {
  const std::string_view prefix = UntilZero(header.substr(kPrefix.at, kPrefix.size));
  const std::string_view name = UntilZero(header.substr(kName.at, kName.size));
  return prefix.empty() ? std::string(name) : fmt::format("{}/{}", prefix, name);
}

bool IsZeros(BytesView bytes) {
  return std::ranges::all_of(bytes, [](char c) { return c == '\0'; });
}

}  // namespace

bool IsBundlePath(std::string_view path) {
  if (path.size() > kMaxBundlePathBytes || !PrefixSize(path)) return false;
  for (;;) {
    const size_t slash = path.find('/');
    if (!IsPathPart(path.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

Result<Bytes> WriteBundle(const Files& files) {
  CAIRN_RETURN_IF_ERROR(CheckPaths(files));
  size_t size = kEndBytes;
  for (const auto& [path, content] : files) {
    if (content.size() > kMaxBundleBytes) return TooLarge();
    size += kBlock + Padded(content.size());
  }
  if (size > kMaxBundleBytes) return TooLarge();
  Bytes tar;
  tar.reserve(size);
  for (const auto& [path, content] : files) {
    tar += Header(path, content.size());
    tar += content;
    tar.resize(Padded(tar.size()), '\0');
  }
  tar.resize(size, '\0');
  return tar;
}

Result<Bundle> Bundle::Read(BytesView tar) {
  if (tar.size() > kMaxBundleBytes) return TooLarge();
  Bundle bundle;
  Files paths;  // without their contents
  size_t at = 0;
  while (tar.size() - at > kEndBytes) {
    const BytesView header = tar.substr(at, kBlock);
    const std::optional<size_t> size = OctalSize(header.substr(kSize.at, kSize.size));
    std::string path = PathOf(header);
    if (!size || !IsBundlePath(path) || header != Header(path, *size)) {
      return Invalid(fmt::format("the header at byte {} is not that of a canonical tar", at));
    }
    at += kBlock;
    const size_t padded = Padded(*size);
    if (padded > tar.size() - at || tar.size() - at - padded < kEndBytes) {
      return Invalid(fmt::format("the tar ends within {}", path));
    }
    if (!IsZeros(tar.substr(at + *size, padded - *size))) {
      return Invalid(fmt::format("there is something behind the end of {}", path));
    }
    if (!bundle.files_.empty() && bundle.files_.back().first >= path) {
      return Invalid(fmt::format("{} stands behind {}", path, bundle.files_.back().first));
    }
    paths.emplace(path, Bytes());
    bundle.files_.emplace_back(std::move(path), tar.substr(at, *size));
    at += padded;
  }
  if (tar.size() - at != kEndBytes || !IsZeros(tar.substr(at))) {
    return Invalid("the tar does not end in 1024 zero bytes");
  }
  CAIRN_RETURN_IF_ERROR(CheckPaths(paths));
  return bundle;
}

std::optional<BytesView> Bundle::Find(std::string_view path) const {
  const auto file = std::ranges::lower_bound(
      files_, path, {}, [](const auto& each) { return std::string_view(each.first); });
  if (file == files_.end() || file->first != path) return std::nullopt;
  return file->second;
}

}  // namespace cairn::functions
