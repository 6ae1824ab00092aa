#include "jobs/model/message_pack.h"

#include <limits>

namespace cairn::jobs {
namespace {

// The first byte of a value says its kind; small values are in it.
constexpr uint8_t kFixMap = 0x80;
constexpr uint8_t kFixArray = 0x90;
constexpr uint8_t kFixString = 0xA0;
constexpr uint8_t kNil = 0xC0;
constexpr uint8_t kFalse = 0xC2;
constexpr uint8_t kTrue = 0xC3;
constexpr uint8_t kBinary8 = 0xC4;
constexpr uint8_t kBinary32 = 0xC6;
constexpr uint8_t kExtension8 = 0xC7;
constexpr uint8_t kExtension32 = 0xC9;
constexpr uint8_t kFloat32 = 0xCA;
constexpr uint8_t kFloat64 = 0xCB;
constexpr uint8_t kUnsigned8 = 0xCC;
constexpr uint8_t kUnsigned64 = 0xCF;
constexpr uint8_t kSigned8 = 0xD0;
constexpr uint8_t kSigned64 = 0xD3;
constexpr uint8_t kFixExtension1 = 0xD4;
constexpr uint8_t kFixExtension16 = 0xD8;
constexpr uint8_t kString8 = 0xD9;
constexpr uint8_t kString32 = 0xDB;
constexpr uint8_t kArray16 = 0xDC;
constexpr uint8_t kArray32 = 0xDD;
constexpr uint8_t kMap16 = 0xDE;
constexpr uint8_t kMap32 = 0xDF;
constexpr uint8_t kNegativeFix = 0xE0;

void AppendKind(Bytes& out, uint8_t kind) { out.push_back(static_cast<char>(kind)); }

// kind8, kind8+1 and kind8+2 are followed by a size of 1, 2 and 4 bytes.
void AppendSized(Bytes& out, uint8_t kind8, BytesView value) {
  if (value.size() <= 0xFF) {
    AppendKind(out, kind8);
    AppendKind(out, static_cast<uint8_t>(value.size()));
  } else if (value.size() <= 0xFFFF) {
    AppendKind(out, kind8 + 1);
    AppendBig16(out, static_cast<uint16_t>(value.size()));
  } else {
    AppendKind(out, kind8 + 2);
    AppendBig32(out, static_cast<uint32_t>(value.size()));
  }
  out.append(value);
}

void AppendCount(Bytes& out, uint8_t fixed, uint8_t kind16, uint32_t count) {
  if (count < 16) {
    AppendKind(out, fixed | static_cast<uint8_t>(count));
  } else if (count <= 0xFFFF) {
    AppendKind(out, kind16);
    AppendBig16(out, static_cast<uint16_t>(count));
  } else {
    AppendKind(out, kind16 + 1);
    AppendBig32(out, count);
  }
}

}  // namespace

void PackWriter::MapHeader(uint32_t pairs) { AppendCount(out_, kFixMap, kMap16, pairs); }
void PackWriter::ArrayHeader(uint32_t items) { AppendCount(out_, kFixArray, kArray16, items); }

void PackWriter::Unsigned(uint64_t value) {
  if (value < 0x80) {
    AppendKind(out_, static_cast<uint8_t>(value));
  } else if (value <= 0xFF) {
    AppendKind(out_, kUnsigned8);
    AppendKind(out_, static_cast<uint8_t>(value));
  } else if (value <= 0xFFFF) {
    AppendKind(out_, kUnsigned8 + 1);
    AppendBig16(out_, static_cast<uint16_t>(value));
  } else if (value <= 0xFFFFFFFF) {
    AppendKind(out_, kUnsigned8 + 2);
    AppendBig32(out_, static_cast<uint32_t>(value));
  } else {
    AppendKind(out_, kUnsigned64);
    AppendBig64(out_, value);
  }
}

void PackWriter::Signed(int64_t value) {
  if (value >= 0) return Unsigned(static_cast<uint64_t>(value));
  if (value >= -32) return AppendKind(out_, static_cast<uint8_t>(value));
  AppendKind(out_, kSigned64);
  AppendBig64(out_, static_cast<uint64_t>(value));
}

void PackWriter::String(std::string_view value) {
  if (value.size() < 32) {
    AppendKind(out_, kFixString | static_cast<uint8_t>(value.size()));
    out_.append(value);
    return;
  }
  AppendSized(out_, kString8, value);
}

void PackWriter::Binary(BytesView value) { AppendSized(out_, kBinary8, value); }

uint8_t PackReader::Byte() { return static_cast<uint8_t>(Big(1)); }

uint64_t PackReader::Big(size_t width) {
  if (rest_.size() < width) ok_ = false;
  if (!ok_) return 0;
  uint64_t value = 0;
  for (size_t i = 0; i < width; ++i) value = value << 8 | static_cast<uint8_t>(rest_[i]);
  rest_.remove_prefix(width);
  return value;
}

BytesView PackReader::Take(uint64_t size) {
  if (rest_.size() < size) ok_ = false;
  if (!ok_) return {};
  const BytesView taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

uint32_t PackReader::MapHeader() {
  const uint8_t kind = Byte();
  if (ok_ && kind >= kFixMap && kind < kFixArray) return kind & 15U;
  if (ok_ && kind == kMap16) return static_cast<uint32_t>(Big(2));
  if (ok_ && kind == kMap32) return static_cast<uint32_t>(Big(4));
  ok_ = false;
  return 0;
}

uint32_t PackReader::ArrayHeader() {
  const uint8_t kind = Byte();
  if (ok_ && kind >= kFixArray && kind < kFixString) return kind & 15U;
  if (ok_ && kind == kArray16) return static_cast<uint32_t>(Big(2));
  if (ok_ && kind == kArray32) return static_cast<uint32_t>(Big(4));
  ok_ = false;
  return 0;
}

uint64_t PackReader::Unsigned() {
  const uint8_t kind = Byte();
  if (kind < kFixMap) return kind;
  if (kind >= kUnsigned8 && kind <= kUnsigned64) return Big(size_t{1} << (kind - kUnsigned8));
  ok_ = false;
  return 0;
}

int64_t PackReader::Signed() {
  if (rest_.empty()) ok_ = false;
  if (!ok_) return 0;
  const auto kind = static_cast<uint8_t>(rest_.front());
  if (kind >= kNegativeFix) {
    rest_.remove_prefix(1);
    return static_cast<int8_t>(kind);
  }
  if (kind >= kSigned8 && kind <= kSigned64) {
    rest_.remove_prefix(1);
    const size_t width = size_t{1} << (kind - kSigned8);
    const uint64_t bits = Big(width) << (64 - 8 * width);
    return static_cast<int64_t>(bits) >> (64 - 8 * width);
  }
  const uint64_t value = Unsigned();
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) ok_ = false;
  return static_cast<int64_t>(value);
}

bool PackReader::Bool() {
  const uint8_t kind = Byte();
  if (kind != kFalse && kind != kTrue) ok_ = false;
  return kind == kTrue;
}

BytesView PackReader::String() {
  const uint8_t kind = Byte();
  if (kind >= kFixString && kind < kNil) return Take(kind & 31U);
  if (kind >= kBinary8 && kind <= kBinary32) return Take(Big(size_t{1} << (kind - kBinary8)));
  if (kind >= kString8 && kind <= kString32) return Take(Big(size_t{1} << (kind - kString8)));
  ok_ = false;
  return {};
}

// One value; those inside an array or a map are added to `pending`, so depth costs no stack.
void PackReader::SkipOne(uint64_t& pending) {
  const uint8_t kind = Byte();
  if (!ok_ || kind < kFixMap || kind >= kNegativeFix || kind == kFalse || kind == kTrue ||
      kind == kNil) {
    return;
  }
  if (kind < kFixArray) {
    pending += 2 * (kind & 15U);
  } else if (kind < kFixString) {
    pending += kind & 15U;
  } else if (kind < kNil) {
    Take(kind & 31U);
  } else if (kind >= kBinary8 && kind <= kBinary32) {
    Take(Big(size_t{1} << (kind - kBinary8)));
  } else if (kind >= kExtension8 && kind <= kExtension32) {
    Take(Big(size_t{1} << (kind - kExtension8)) + 1);
  } else if (kind == kFloat32 || kind == kFloat64) {
    Take(kind == kFloat32 ? 4 : 8);
  } else if (kind >= kUnsigned8 && kind <= kUnsigned64) {
    Take(size_t{1} << (kind - kUnsigned8));
  } else if (kind >= kSigned8 && kind <= kSigned64) {
    Take(size_t{1} << (kind - kSigned8));
  } else if (kind >= kFixExtension1 && kind <= kFixExtension16) {
    Take((size_t{1} << (kind - kFixExtension1)) + 1);
  } else if (kind >= kString8 && kind <= kString32) {
    Take(Big(size_t{1} << (kind - kString8)));
  } else if (kind == kArray16 || kind == kArray32) {
    pending += Big(kind == kArray16 ? 2 : 4);
  } else if (kind == kMap16 || kind == kMap32) {
    pending += 2 * Big(kind == kMap16 ? 2 : 4);
  } else {
    ok_ = false;
  }
}

void PackReader::Skip() {
  for (uint64_t pending = 1; pending > 0 && ok_; --pending) SkipOne(pending);
}

}  // namespace cairn::jobs
