#include "net/resp/writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/check.h"

namespace cairn::net {
namespace {

// What is around the bytes of an element at most: a type, a length, a format, line ends.
constexpr size_t kFraming = 32;

// The decimal digits of an integer, without allocating.
class Digits {
 public:
  template <typename Integer>
  explicit Digits(Integer value) {
    end_ = std::to_chars(buffer_.data(), buffer_.data() + buffer_.size(), value).ptr;
  }

  std::string_view view() const {
    return {buffer_.data(), static_cast<size_t>(end_ - buffer_.data())};
  }

 private:
  std::array<char, 24> buffer_;
  char* end_;
};

// 17 significant digits, so that the double read back is the double written.
class DoubleText {
 public:
  explicit DoubleText(double value) {
    if (std::isnan(value)) {
      text_ = "nan";
    } else if (std::isinf(value)) {
      text_ = value > 0 ? "inf" : "-inf";
    } else {
      const auto [end, failure] = std::to_chars(buffer_.data(), buffer_.data() + buffer_.size(),
                                                value, std::chars_format::general, 17);
      CAIRN_CHECK(failure == std::errc{});
      text_ = {buffer_.data(), static_cast<size_t>(end - buffer_.data())};
    }
  }
  DoubleText(const DoubleText&) = delete;
  DoubleText& operator=(const DoubleText&) = delete;

  std::string_view view() const { return text_; }

 private:
  std::array<char, 40> buffer_;
  std::string_view text_;
};

}  // namespace

void RespWriter::Header(char type, uint64_t count) {
  // One append: the type, at most 20 digits, the line end.
  std::array<char, 24> line;
  line[0] = type;
  char* end = std::to_chars(line.data() + 1, line.data() + line.size(), count).ptr;
  *end++ = '\r';
  *end++ = '\n';
  Raw({line.data(), end});
}

void RespWriter::Simple(std::string_view text) {
  if (!Fits(text.size() + kFraming)) return;
  out_.push_back('+');
  out_.append(text);
  out_.append("\r\n", 2);
}

void RespWriter::Error(std::string_view text) {
  if (!Fits(text.size() + kFraming)) return;
  out_.push_back('-');
  const size_t start = out_.size();
  out_.append(text);
  std::replace_if(
      out_.begin() + static_cast<ptrdiff_t>(start), out_.end(),
      [](char c) { return c == '\r' || c == '\n'; }, ' ');
  out_.append("\r\n", 2);
}

void RespWriter::Integer(int64_t value) {
  std::array<char, 24> line;
  line[0] = ':';
  char* end = std::to_chars(line.data() + 1, line.data() + line.size(), value).ptr;
  *end++ = '\r';
  *end++ = '\n';
  Raw({line.data(), end});
}

void RespWriter::Bulk(std::string_view bytes) {
  if (!Fits(bytes.size() + kFraming)) return;
  Header('$', bytes.size());
  out_.append(bytes);
  out_.append("\r\n", 2);
}

std::span<char> RespWriter::BulkToFill(size_t bytes) {
  if (!Fits(bytes + kFraming)) return {};
  Header('$', bytes);
  const size_t begin = out_.size();
  out_.reserve(begin + bytes + 2);
  out_.append(bytes, '\0');
  out_.append("\r\n", 2);
  return {out_.data() + begin, bytes};
}

void RespWriter::BulkInteger(int64_t value) { Bulk(Digits(value).view()); }

void RespWriter::Null() {
  if (resp3_) {
    Raw("_\r\n");
  } else {
    Raw("$-1\r\n");
  }
}

void RespWriter::NullArray() {
  if (resp3_) {
    Raw("_\r\n");
  } else {
    Raw("*-1\r\n");
  }
}

void RespWriter::Double(double value) {
  const DoubleText text(value);
  if (!resp3_) {
    Bulk(text.view());
    return;
  }
  if (!Fits(text.view().size() + kFraming)) return;
  out_.push_back(',');
  out_.append(text.view());
  out_.append("\r\n", 2);
}

void RespWriter::Boolean(bool value) {
  if (resp3_) {
    Raw(value ? "#t\r\n" : "#f\r\n");
  } else {
    Raw(value ? ":1\r\n" : ":0\r\n");
  }
}

void RespWriter::BigNumber(std::string_view digits) {
  if (!resp3_) {
    Bulk(digits);
    return;
  }
  if (!Fits(digits.size() + kFraming)) return;
  out_.push_back('(');
  out_.append(digits);
  out_.append("\r\n", 2);
}

void RespWriter::Verbatim(std::string_view format, std::string_view text) {
  CAIRN_CHECK(format.size() == 3, "{}", format);
  if (!resp3_) {
    Bulk(text);
    return;
  }
  if (!Fits(text.size() + kFraming)) return;
  Header('=', text.size() + 4);
  out_.append(format);
  out_.push_back(':');
  out_.append(text);
  out_.append("\r\n", 2);
}

void RespWriter::ArrayHeader(size_t elements) { Header('*', elements); }

void RespWriter::MapHeader(size_t pairs) {
  if (resp3_) {
    Header('%', pairs);
  } else {
    Header('*', pairs * 2);
  }
}

void RespWriter::SetHeader(size_t elements) { Header(resp3_ ? '~' : '*', elements); }

void RespWriter::PushHeader(size_t elements) { Header(resp3_ ? '>' : '*', elements); }

void RespWriter::AttributeHeader(size_t pairs) {
  CAIRN_CHECK(resp3_, "RESP2 has no attributes");
  Header('|', pairs);
}

std::string FormatDouble(double value) { return std::string(DoubleText(value).view()); }

}  // namespace cairn::net
