#include "actors/model/tuple.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "actors/model/limits.h"
#include "base/check.h"
#include "base/utf8.h"

namespace cairn::actors {
namespace {

constexpr uint8_t kNull = 0x00;
constexpr uint8_t kBytes = 0x01;
constexpr uint8_t kText = 0x02;
constexpr uint8_t kNested = 0x05;
constexpr uint8_t kZero = 0x14;
constexpr uint8_t kFloat = 0x20;
constexpr uint8_t kDouble = 0x21;
constexpr uint8_t kFalse = 0x26;
constexpr uint8_t kTrue = 0x27;
constexpr uint8_t kUuid = 0x30;
constexpr uint8_t kVersionstamp = 0x33;
constexpr uint8_t kEscape = 0xFF;
constexpr size_t kMaxIntegerBytes = 8;

size_t WidthOf(uint64_t magnitude) {
  return (static_cast<size_t>(std::bit_width(magnitude)) + 7) / 8;
}

// The largest number of `width` bytes.
uint64_t MaxOf(size_t width) {
  return width >= kMaxIntegerBytes ? ~0ULL : (1ULL << (8 * width)) - 1;
}

void AppendBigOf(Bytes& out, uint64_t value, size_t width) {
  for (size_t i = width; i > 0; --i) out.push_back(static_cast<char>(value >> (8 * (i - 1))));
}

// Floating-point numbers in an order of their bits as unsigned numbers, and back.
template <typename Bits>
constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
template <typename Bits>
Bits Ordered(Bits bits) {
  return (bits & kSign<Bits>) != 0 ? static_cast<Bits>(~bits)
                                   : static_cast<Bits>(bits | kSign<Bits>);
}
template <typename Bits>
Bits Unordered(Bits bits) {
  return (bits & kSign<Bits>) != 0 ? static_cast<Bits>(bits ^ kSign<Bits>)
                                   : static_cast<Bits>(~bits);
}

void PackElements(const Tuple& tuple, TuplePacker& packer);

struct ElementPacker {
  TuplePacker& packer;

  void operator()(TupleNull /*null*/) const { packer.Null(); }
  void operator()(const TupleBytes& bytes) const { packer.AddBytes(bytes.bytes); }
  void operator()(const TupleText& text) const { packer.Text(text.text); }
  void operator()(TupleInteger number) const {
    packer.Magnitude(number.magnitude, number.negative);
  }
  void operator()(TupleFloat number) const { packer.Float(std::bit_cast<float>(number.bits)); }
  void operator()(TupleDouble number) const { packer.Double(std::bit_cast<double>(number.bits)); }
  void operator()(bool value) const { packer.Bool(value); }
  void operator()(const TupleUuid& uuid) const { packer.Uuid(uuid.bytes); }
  void operator()(const TupleVersionstamp& stamp) const { packer.Versionstamp(stamp.bytes); }
  void operator()(const Tuple& nested) const {
    packer.Begin();
    PackElements(nested, packer);
    packer.End();
  }
};

// NOLINTNEXTLINE(misc-no-recursion): as deep as the tuple, which kMaxTupleDepth bounds.
void PackElements(const Tuple& tuple, TuplePacker& packer) {
  for (const TupleElement& element : tuple) std::visit(ElementPacker{packer}, element.value);
}

class Unpacker {
 public:
  explicit Unpacker(BytesView bytes) : rest_(bytes) {}

  std::optional<Tuple> Outer() {
    Tuple tuple;
    while (!rest_.empty()) {
      std::optional<TupleElement> element = Element(0);
      if (!element) return std::nullopt;
      tuple.push_back(std::move(*element));
    }
    return tuple;
  }

 private:
  uint8_t TakeByte() {
    const auto byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return byte;
  }
  bool NextIs(uint8_t byte) const {
    return !rest_.empty() && static_cast<uint8_t>(rest_.front()) == byte;
  }

  // Bytes up to their end; nullopt if it is missing.
  std::optional<Bytes> Escaped() {
    Bytes bytes;
    while (true) {
      const size_t zero = rest_.find('\0');
      if (zero == BytesView::npos) return std::nullopt;
      bytes.append(rest_.substr(0, zero));
      rest_.remove_prefix(zero + 1);
      if (!NextIs(kEscape)) return bytes;
      rest_.remove_prefix(1);
      bytes.push_back('\0');
    }
  }

  std::optional<uint64_t> Big(size_t width) {
    if (rest_.size() < width) return std::nullopt;
    uint64_t value = 0;
    for (size_t i = 0; i < width; ++i) value = value << 8 | TakeByte();
    return value;
  }

  std::optional<TupleElement> Integer(uint8_t code) {
    const bool negative = code < kZero;
    const size_t width = negative ? kZero - code : code - kZero;
    const std::optional<uint64_t> stored = Big(width);
    if (!stored) return std::nullopt;
    const uint64_t magnitude = negative ? MaxOf(width) - *stored : *stored;
    if (WidthOf(magnitude) != width) return std::nullopt;  // there is a shorter one
    return TupleElement{TupleInteger{magnitude, negative}};
  }

  template <size_t kSize>
  std::optional<std::array<uint8_t, kSize>> Fixed() {
    if (rest_.size() < kSize) return std::nullopt;
    std::array<uint8_t, kSize> bytes;
    std::ranges::copy(rest_.substr(0, kSize), bytes.begin());
    rest_.remove_prefix(kSize);
    return bytes;
  }

  // NOLINTNEXTLINE(misc-no-recursion): at most kMaxTupleDepth deep.
  std::optional<TupleElement> Nested(size_t depth) {
    if (depth >= kMaxTupleDepth) return std::nullopt;
    Tuple tuple;
    while (true) {
      if (rest_.empty()) return std::nullopt;
      if (NextIs(kNull)) {
        rest_.remove_prefix(1);
        if (!NextIs(kEscape)) return TupleElement{std::move(tuple)};
        rest_.remove_prefix(1);
        tuple.push_back({TupleNull()});
        continue;
      }
      std::optional<TupleElement> element = Element(depth + 1);
      if (!element) return std::nullopt;
      tuple.push_back(std::move(*element));
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion): at most kMaxTupleDepth deep.
  std::optional<TupleElement> Element(size_t depth) {
    const uint8_t code = TakeByte();
    if (code >= kZero - kMaxIntegerBytes && code <= kZero + kMaxIntegerBytes) return Integer(code);
    switch (code) {
      case kNull:
        return TupleElement{TupleNull()};
      case kBytes: {
        std::optional<Bytes> bytes = Escaped();
        if (!bytes) return std::nullopt;
        return TupleElement{TupleBytes{std::move(*bytes)}};
      }
      case kText: {
        std::optional<Bytes> text = Escaped();
        if (!text || !IsUtf8(*text)) return std::nullopt;
        return TupleElement{TupleText{std::move(*text)}};
      }
      case kNested:
        return Nested(depth);
      case kFloat: {
        const std::optional<uint64_t> bits = Big(sizeof(uint32_t));
        if (!bits) return std::nullopt;
        return TupleElement{TupleFloat{Unordered(static_cast<uint32_t>(*bits))}};
      }
      case kDouble: {
        const std::optional<uint64_t> bits = Big(sizeof(uint64_t));
        if (!bits) return std::nullopt;
        return TupleElement{TupleDouble{Unordered(*bits)}};
      }
      case kFalse:
      case kTrue:
        return TupleElement{code == kTrue};
      case kUuid: {
        const auto bytes = Fixed<16>();
        if (!bytes) return std::nullopt;
        return TupleElement{TupleUuid{*bytes}};
      }
      case kVersionstamp: {
        const auto bytes = Fixed<12>();
        if (!bytes) return std::nullopt;
        return TupleElement{TupleVersionstamp{*bytes}};
      }
      default:
        return std::nullopt;
    }
  }

  BytesView rest_;
};

}  // namespace

TuplePacker& TuplePacker::Null() {
  bytes_.push_back(kNull);
  if (depth_ > 0) bytes_.push_back(static_cast<char>(kEscape));
  return *this;
}

TuplePacker& TuplePacker::AddBytes(BytesView bytes) {
  bytes_.push_back(kBytes);
  AppendTupleEscaped(bytes_, bytes);
  bytes_.push_back('\0');
  return *this;
}

TuplePacker& TuplePacker::Text(std::string_view text) {
  bytes_.push_back(kText);
  AppendTupleEscaped(bytes_, text);
  bytes_.push_back('\0');
  return *this;
}

TuplePacker& TuplePacker::Integer(int64_t value) {
  const TupleInteger number = TupleInteger::Of(value);
  return Magnitude(number.magnitude, number.negative);
}

TuplePacker& TuplePacker::Magnitude(uint64_t magnitude, bool negative) {
  const size_t width = WidthOf(magnitude);
  if (negative && magnitude != 0) {
    bytes_.push_back(static_cast<char>(kZero - width));
    AppendBigOf(bytes_, MaxOf(width) - magnitude, width);
  } else {
    bytes_.push_back(static_cast<char>(kZero + width));
    AppendBigOf(bytes_, magnitude, width);
  }
  return *this;
}

TuplePacker& TuplePacker::Float(float value) {
  bytes_.push_back(kFloat);
  AppendBig32(bytes_, Ordered(std::bit_cast<uint32_t>(value)));
  return *this;
}

TuplePacker& TuplePacker::Double(double value) {
  bytes_.push_back(kDouble);
  AppendBig64(bytes_, Ordered(std::bit_cast<uint64_t>(value)));
  return *this;
}

TuplePacker& TuplePacker::Bool(bool value) {
  bytes_.push_back(value ? kTrue : kFalse);
  return *this;
}

TuplePacker& TuplePacker::Uuid(const std::array<uint8_t, 16>& uuid) {
  bytes_.push_back(kUuid);
  bytes_.append(uuid.begin(), uuid.end());
  return *this;
}

TuplePacker& TuplePacker::Versionstamp(const std::array<uint8_t, 12>& stamp) {
  bytes_.push_back(kVersionstamp);
  bytes_.append(stamp.begin(), stamp.end());
  return *this;
}

TuplePacker& TuplePacker::Begin() {
  bytes_.push_back(kNested);
  ++depth_;
  return *this;
}

TuplePacker& TuplePacker::End() {
  CAIRN_CHECK(depth_ > 0, "an End without its Begin");
  --depth_;
  bytes_.push_back('\0');
  return *this;
}

TupleInteger TupleInteger::Of(int64_t value) {
  if (value >= 0) return {static_cast<uint64_t>(value), false};
  return {~static_cast<uint64_t>(value) + 1, true};
}

std::optional<int64_t> TupleInteger::value() const {
  constexpr uint64_t kLimit = 1ULL << 63;
  if (negative) {
    if (magnitude > kLimit) return std::nullopt;
    return static_cast<int64_t>(~magnitude + 1);
  }
  if (magnitude >= kLimit) return std::nullopt;
  return static_cast<int64_t>(magnitude);
}

Bytes PackTuple(const Tuple& tuple) {
  TuplePacker packer;
  PackElements(tuple, packer);
  return packer.Take();
}

std::optional<Tuple> UnpackTuple(BytesView bytes) { return Unpacker(bytes).Outer(); }

void AppendTupleEscaped(Bytes& out, BytesView bytes) {
  while (true) {
    const size_t zero = bytes.find('\0');
    out.append(bytes.substr(0, zero));
    if (zero == BytesView::npos) return;
    out.push_back('\0');
    out.push_back(static_cast<char>(kEscape));
    bytes.remove_prefix(zero + 1);
  }
}

}  // namespace cairn::actors
