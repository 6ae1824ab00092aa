#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "net/resp/reply_meter.h"

namespace cairn::net {

// Appends replies to a buffer in RESP2 or RESP3. RESP3's own types become what Redis 7.0 sends a
// RESP2 client instead: a map the array of its keys and values, a boolean 1 or 0, a double a bulk
// string. Cheap to make per reply: it holds a reference and the version, and allocates nothing
// beyond the buffer's own growth. Headers are followed by their elements, written by further calls.
//
// With a meter the reply is bounded: past its bound nothing more is written, and full() says so.
// What stands in the buffer then is no reply: who made the writer throws it away.
class RespWriter {
 public:
  RespWriter(std::string& out, int version, ReplyMeter* meter = nullptr)
      : out_(out), meter_(meter), resp3_(version >= 3) {}

  void Simple(std::string_view text);  // +OK; text without line breaks
  void Ok() { Raw("+OK\r\n"); }
  // `text` begins with its code, "ERR …" or "WRONGTYPE …". Line breaks become spaces.
  void Error(std::string_view text);
  void Integer(int64_t value);
  void Bulk(std::string_view bytes);
  // A bulk string of `bytes` zeros, for the caller to write over until the next call. Past the
  // bound nothing is written, and the span is empty.
  std::span<char> BulkToFill(size_t bytes);
  void BulkInteger(int64_t value);  // a bulk string of its decimal digits
  void Null();                      // RESP2: a null bulk string
  void NullArray();                 // RESP2: a null array
  void Double(double value);
  void Boolean(bool value);
  void BigNumber(std::string_view digits);
  // `format` is three letters: "txt" or "mkd".
  void Verbatim(std::string_view format, std::string_view text);

  void ArrayHeader(size_t elements);
  void MapHeader(size_t pairs);
  void SetHeader(size_t elements);
  void PushHeader(size_t elements);
  // Precedes a reply with out-of-band pairs. Exists in RESP3 only.
  void AttributeHeader(size_t pairs);

  // Bytes that are replies, or whole elements of one, already.
  void Raw(std::string_view replies) {
    if (Fits(replies.size())) out_.append(replies);
  }

  // Memory that the command takes beside its reply. False: there is none left, and the reply counts
  // as past its bound.
  bool Reserve(size_t bytes) { return meter_ == nullptr || meter_->Reserve(bytes); }

  // Whether the reply is past its bound: a command that has much to write may stop.
  bool full() const { return meter_ != nullptr && meter_->overrun(); }

  // Writes to another buffer what will become a part of this reply, within the same bounds.
  RespWriter Beside(std::string& part) const {
    RespWriter writer(part, resp3_ ? 3 : 2, meter_);
    return writer;
  }

  bool resp3() const { return resp3_; }
  std::string& out() { return out_; }

 private:
  // Whether so much more may be written.
  bool Fits(size_t bytes) { return meter_ == nullptr || meter_->Allows(out_.size() + bytes); }
  void Header(char type, uint64_t count);

  std::string& out_;
  ReplyMeter* const meter_;
  const bool resp3_;
};

// `value` as Redis 7.0 prints a double in a reply: 17 significant digits, "inf", "-inf", "nan".
std::string FormatDouble(double value);

}  // namespace cairn::net
