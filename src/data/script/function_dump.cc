#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/script/function_library.h"
#include "data/value/limits.h"

namespace cairn::data {
namespace {

constexpr char kLibraryCode = '\xf5';
constexpr std::string_view kVersion("\x0a\x00", 2);
constexpr int kNewestVersion = 10;
constexpr size_t kTrailerBytes = 10;

// CRC-64 of the Jones polynomial, reflected.
constexpr std::array<uint64_t, 256> MakeCrcTable() {
  std::array<uint64_t, 256> table{};
  for (uint64_t i = 0; i < 256; ++i) {
    uint64_t crc = i;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 1) != 0 ? crc >> 1 ^ 0x95ac9329ac4bc9b5 : crc >> 1;
    }
    table[i] = crc;
  }
  return table;
}

uint64_t Crc64(std::string_view bytes) {
  static constexpr std::array<uint64_t, 256> kTable = MakeCrcTable();
  uint64_t crc = 0;
  for (const char c : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ crc >> 8;
  return crc;
}

void AppendBig(std::string& out, uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out += static_cast<char>(value >> shift);
}

void AppendLength(std::string& out, uint64_t length) {
  if (length < 64) {
    AppendBig(out, length, 1);
  } else if (length < 16384) {
    AppendBig(out, 0x4000 | length, 2);
  } else if (length <= UINT32_MAX) {
    out += '\x80';
    AppendBig(out, length, 4);
  } else {
    out += '\x81';
    AppendBig(out, length, 8);
  }
}

class DumpReader {
 public:
  explicit DumpReader(std::string_view bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }

  std::optional<std::string> Source() {
    if (!Take(1, [](char c) { return c == kLibraryCode; })) return std::nullopt;
    if (rest_.empty()) return std::nullopt;
    if (rest_.front() == '\xc3') return Compressed();
    const std::optional<uint64_t> size = Length();
    if (!size || *size > rest_.size()) return std::nullopt;
    return std::string(Bytes(*size));
  }

 private:
  template <typename Predicate>
  bool Take(size_t size, Predicate matches) {
    if (rest_.size() < size || !matches(rest_.front())) return false;
    rest_.remove_prefix(size);
    return true;
  }

  std::string_view Bytes(size_t size) {
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

  std::optional<uint64_t> Big(size_t bytes) {
    if (rest_.size() < bytes) return std::nullopt;
    uint64_t value = 0;
    for (const char c : Bytes(bytes)) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }

  std::optional<uint64_t> Length() {
    const std::optional<uint64_t> first = Big(1);
    if (!first) return std::nullopt;
    if (*first < 0x40) return first;
    if (*first == 0x80) return Big(4);
    if (*first == 0x81) return Big(8);
    if (*first >= 0x80) return std::nullopt;
    const std::optional<uint64_t> low = Big(1);
    if (!low) return std::nullopt;
    return (*first & 0x3f) << 8 | *low;
  }

  std::optional<std::string> Compressed() {
    rest_.remove_prefix(1);
    const std::optional<uint64_t> size = Length();
    const std::optional<uint64_t> full_size = Length();
    if (!size || !full_size || *size > rest_.size() || *full_size > kMaxRestoredFunctionBytes) {
      return std::nullopt;
    }
    return Expand(Bytes(*size), *full_size);
  }

  // LZF: runs of plain bytes, and copies of what came before.
  static std::optional<std::string> Expand(std::string_view in, size_t full_size) {
    std::string out;
    size_t at = 0;
    const auto byte = [&]() -> size_t { return static_cast<unsigned char>(in[at++]); };
    while (at < in.size()) {
      const size_t control = byte();
      if (control < 32) {
        if (in.size() - at < control + 1) return std::nullopt;
        out += in.substr(at, control + 1);
        at += control + 1;
      } else {
        size_t length = control >> 5;
        if (in.size() - at < (length == 7 ? 2U : 1U)) return std::nullopt;
        if (length == 7) length += byte();
        const size_t distance = ((control & 0x1f) << 8 | byte()) + 1;
        if (distance > out.size()) return std::nullopt;
        for (size_t i = 0; i < length + 2; ++i) out += out[out.size() - distance];
      }
      if (out.size() > full_size) return std::nullopt;
    }
    if (out.size() != full_size) return std::nullopt;
    return out;
  }

  std::string_view rest_;
};

std::string LittleEndian(uint64_t value) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

}  // namespace

std::string EncodeFunctionDump(const std::vector<Library>& libraries) {
  std::string out;
  for (const Library& library : libraries) {
    out += kLibraryCode;
    AppendLength(out, library.source.size());
    out += library.source;
  }
  out += kVersion;
  out += LittleEndian(Crc64(out));
  return out;
}

std::optional<std::vector<std::string>> DecodeFunctionDump(std::string_view dump) {
  if (dump.size() < kTrailerBytes) return std::nullopt;
  const std::string_view checked = dump.substr(0, dump.size() - 8);
  if (dump.substr(checked.size()) != LittleEndian(Crc64(checked))) return std::nullopt;
  const std::string_view body = dump.substr(0, dump.size() - kTrailerBytes);
  const auto low = static_cast<unsigned char>(dump[body.size()]);
  const auto high = static_cast<unsigned char>(dump[body.size() + 1]);
  if ((high << 8 | low) > kNewestVersion) return std::nullopt;
  std::vector<std::string> sources;
  DumpReader reader(body);
  while (!reader.at_end()) {
    std::optional<std::string> source = reader.Source();
    if (!source) return std::nullopt;
    sources.push_back(std::move(*source));
  }
  return sources;
}

}  // namespace cairn::data
