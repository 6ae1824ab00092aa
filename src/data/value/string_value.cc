#include "data/value/string_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "data/value/limits.h"

namespace cairn::data {
namespace {

// From here on one scan is cheaper than a get for each segment.
constexpr size_t kScannedSegments = 8;

Bytes SegmentSuffix(size_t index) {
  Bytes suffix;
  AppendBig32(suffix, static_cast<uint32_t>(index));
  return suffix;
}

Bytes SegmentedPayload(size_t size) {
  Bytes payload;
  AppendBig64(payload, size);
  return payload;
}

bool IsZeros(BytesView bytes) { return bytes.find_first_not_of('\0') == BytesView::npos; }

}  // namespace

void PutString(Entry& entry, BytesView value, std::optional<int64_t> expire_ms) {
  if (value.size() <= kMaxShortBytes) {
    entry.Put({.type = ValueType::kString, .payload = value, .expire_ms = expire_ms});
    return;
  }
  Elements elements(entry.transaction(), entry.db(), 0);
  elements.Begin();
  for (size_t at = 0; at < value.size(); at += kSegmentBytes) {
    const BytesView segment = value.substr(at, kSegmentBytes);
    if (!IsZeros(segment)) elements.Put(SegmentSuffix(at / kSegmentBytes), segment);
  }
  entry.Put({.type = ValueType::kString,
             .payload = SegmentedPayload(value.size()),
             .expire_ms = expire_ms,
             .generation = elements.generation()});
}

Result<StringValue> StringValue::Load(doors::CommandContext& context, BytesView key) {
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(context, key));
  return Open(std::move(entry));
}

Result<StringValue> StringValue::Open(Entry loaded) {
  StringValue string(std::move(loaded));
  const Entry& entry = string.entry_;
  if (!entry.exists()) return string;
  string.wrong_type_ = !entry.Is(ValueType::kString);
  if (string.wrong_type_) return string;
  string.expire_ms_ = entry.expire_ms();
  if (IsShortString(entry)) {
    string.text_ = entry.payload();
    string.size_ = string.text_.size();
    return string;
  }
  BytesReader reader(entry.payload());
  string.size_ = reader.Big64();
  if (!reader.AtEnd() || string.size_ > kMaxStringBytes) {
    return Error{ErrorCode::kCorruption, fmt::format("the length of the string {} cannot be read",
                                                     Printable(entry.user_key()))};
  }
  string.elements_.emplace(entry.transaction(), entry.db(), entry.generation());
  return string;
}

StringValue StringValue::Replacing(Entry entry) { return StringValue(std::move(entry)); }

Result<void> StringValue::Visit(size_t begin, size_t end, PieceVisitor visit) {
  end = std::min(end, size_);
  if (begin >= end) return {};
  if (!segmented()) {
    visit(begin, BytesView(text_).substr(begin, end - begin));
    return {};
  }
  // Hands on what the segment has of the range. Returns whether to go on.
  const auto visit_segment = [&](size_t index, BytesView segment) {
    const size_t at = index * kSegmentBytes;
    const size_t from = std::max(begin, at);
    const size_t to = std::min(end, at + segment.size());
    return from >= to || visit(from, segment.substr(from - at, to - from));
  };
  const size_t first = begin / kSegmentBytes;
  const size_t last = (end - 1) / kSegmentBytes;
  if (last - first >= kScannedSegments) {
    return elements_->Scan({SegmentSuffix(first), SegmentSuffix(last + 1)}, {},
                           [&](BytesView suffix, BytesView segment) {
                             return visit_segment(BytesReader(suffix).Big32(), segment);
                           });
  }
  for (size_t index = first; index <= last; ++index) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> segment,
                           elements_->Get(SegmentSuffix(index)));
    if (segment && !visit_segment(index, *segment)) break;
  }
  return {};
}

Result<Bytes> StringValue::Read(size_t offset, size_t length) {
  if (offset >= size_) return Bytes();
  Bytes bytes(std::min(length, size_ - offset), '\0');
  CAIRN_RETURN_IF_ERROR(ReadTo(bytes, offset));
  return bytes;
}

Result<void> StringValue::ReadTo(std::span<char> to, size_t offset) {
  return Visit(offset, offset + to.size(), [&](size_t at, BytesView piece) {
    std::ranges::copy(piece, to.begin() + static_cast<ptrdiff_t>(at - offset));
    return true;
  });
}

Result<BytesView> StringValue::ReadAll() {
  if (segmented()) {
    CAIRN_RETURN_IF_ERROR(entry_.Gather(size_));
    CAIRN_ASSIGN_OR_RETURN(text_, Read(0, size_));
  }
  return BytesView(text_);
}

void StringValue::BeginSegments() {
  elements_.emplace(entry_.transaction(), entry_.db(), 0);
  elements_->Begin();
  for (size_t at = 0; at < text_.size(); at += kSegmentBytes) {
    elements_->Put(SegmentSuffix(at / kSegmentBytes), BytesView(text_).substr(at, kSegmentBytes));
  }
  text_.clear();
}

Result<void> StringValue::WriteSegment(size_t index, size_t at, BytesView bytes) {
  const Bytes suffix = SegmentSuffix(index);
  if (bytes.size() == kSegmentBytes && !IsZeros(bytes)) {
    elements_->Put(suffix, bytes);
    return {};
  }
  CAIRN_ASSIGN_OR_RETURN(std::optional<Bytes> old, elements_->Get(suffix));
  if (!old && IsZeros(bytes)) return {};
  Bytes segment = old ? *std::move(old) : Bytes();
  if (segment.size() < at + bytes.size()) segment.resize(at + bytes.size(), '\0');
  segment.replace(at, bytes.size(), bytes);
  elements_->Put(suffix, segment);
  return {};
}

void StringValue::Extend(size_t size) {
  CAIRN_CHECK(size <= kMaxStringBytes);
  if (size <= size_) return;
  if (!segmented() && size > kMaxShortBytes) BeginSegments();
  if (!segmented()) text_.resize(size, '\0');
  size_ = size;
}

Result<void> StringValue::Write(size_t offset, BytesView bytes) {
  Extend(offset + bytes.size());
  if (!segmented()) {
    text_.replace(offset, bytes.size(), bytes);
    return {};
  }
  while (!bytes.empty()) {
    const size_t at = offset % kSegmentBytes;
    const BytesView part = bytes.substr(0, kSegmentBytes - at);
    CAIRN_RETURN_IF_ERROR(WriteSegment(offset / kSegmentBytes, at, part));
    offset += part.size();
    bytes.remove_prefix(part.size());
  }
  return {};
}

void StringValue::Save() {
  if (segmented()) {
    entry_.Put({.type = ValueType::kString,
                .payload = SegmentedPayload(size_),
                .expire_ms = expire_ms_,
                .generation = elements_->generation()});
  } else {
    entry_.Put({.type = ValueType::kString, .payload = text_, .expire_ms = expire_ms_});
  }
}

}  // namespace cairn::data
