#include "functions/engine/result.h"

#include <fmt/format.h>
#include <js/Array.h>
#include <js/CallAndConstruct.h>
#include <js/Conversions.h>
#include <js/Id.h>
#include <js/JSON.h>
#include <js/Object.h>
#include <js/PropertyAndElement.h>
#include <unicode/ustring.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/json_text.h"
#include "functions/engine/exception.h"
#include "functions/engine/text.h"
#include "functions/protocol/limits.h"

namespace cairn::functions {
namespace {

constexpr int kOk = 200;
constexpr double kLeastStatus = 100;
constexpr std::string_view kLineBreaks("\r\n\0", 3);
constexpr double kMostStatus = 599;
// JSON beyond this is not made: what is cut off would be thrown away.
constexpr size_t kMaxBodyUnits = size_t{64} << 20U;

struct Answer {
  int status = kOk;
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<std::string> cookies;
  std::string body;
  bool base64 = false;
};

RunError Bad(std::string message) {
  return {.type = "ValidationError", .message = std::move(message)};
}

// Reads the members of an answer. Each returns false with the error filled, which is either ours or
// what the function's own code has thrown meanwhile.
class AnswerReader {
 public:
  AnswerReader(JSContext* cx, JS::HandleObject object, RunError& error)
      : cx_(cx), object_(object), error_(error) {}

  bool Read(Answer& answer) {
    return ReadStatus(answer) && ReadHeaders(answer) && ReadCookies(answer) && ReadBody(answer) &&
           ReadBase64(answer);
  }

 private:
  bool Refuse(std::string message) {
    error_ = Bad(std::move(message));
    return false;
  }
  bool Thrown() {
    error_ = TakeException(cx_);
    return false;
  }
  bool Get(const char* name, JS::MutableHandleValue value) {
    return JS_GetProperty(cx_, object_, name, value) || Thrown();
  }

  bool ReadStatus(Answer& answer) {
    JS::RootedValue value(cx_);
    if (!Get("statusCode", &value)) return false;
    if (value.isNullOrUndefined()) return true;
    if (!value.isNumber()) return Refuse("statusCode must be a number from 100 to 599");
    const double status = value.toNumber();
    if (status == 0) return true;
    if (!(status >= kLeastStatus && status <= kMostStatus) || status != std::floor(status)) {
      return Refuse(fmt::format("statusCode must be a number from 100 to 599, not {}", status));
    }
    answer.status = static_cast<int>(status);
    return true;
  }

  bool ReadHeaders(Answer& answer) {
    JS::RootedValue value(cx_);
    if (!Get("headers", &value)) return false;
    if (value.isNullOrUndefined()) return true;
    if (!value.isObject()) return Refuse("headers must be an object of strings");
    const JS::RootedObject headers(cx_, &value.toObject());
    JS::Rooted<JS::IdVector> ids(cx_, JS::IdVector(cx_));
    if (!JS_Enumerate(cx_, headers, &ids)) return Thrown();
    if (ids.length() > wire::kMaxResultHeaders) {
      return Refuse(fmt::format("headers has more than {} names", wire::kMaxResultHeaders));
    }
    JS::RootedId id(cx_);
    for (size_t i = 0; i < ids.length(); ++i) {
      id = ids[i];
      if (!ReadHeader(headers, id, answer)) return false;
      const auto& [name, text] = answer.headers.back();
      if (!CountHeader(name.size() + text.size())) return false;
    }
    return true;
  }

  bool CountHeader(size_t bytes) {
    header_bytes_ += bytes;
    if (header_bytes_ <= wire::kMaxResultHeaderBytes) return true;
    return Refuse(
        fmt::format("headers and cookies have more than {} bytes", wire::kMaxResultHeaderBytes));
  }

  // Each is a Set-Cookie header of its own, which the map of headers cannot hold twice.
  bool ReadCookies(Answer& answer) {
    constexpr const char* kWanted = "cookies must be a list of strings without line breaks";
    JS::RootedValue value(cx_);
    if (!Get("cookies", &value)) return false;
    if (value.isNullOrUndefined()) return true;
    bool is_array = false;
    uint32_t count = 0;
    if (!JS::IsArrayObject(cx_, value, &is_array)) return Thrown();
    if (!is_array) return Refuse(kWanted);
    const JS::RootedObject list(cx_, &value.toObject());
    if (!JS::GetArrayLength(cx_, list, &count)) return Thrown();
    if (count > wire::kMaxResultHeaders) {
      return Refuse(fmt::format("cookies has more than {} elements", wire::kMaxResultHeaders));
    }
    JS::RootedValue cookie(cx_);
    for (uint32_t i = 0; i < count; ++i) {
      if (!JS_GetElement(cx_, list, i, &cookie)) return Thrown();
      if (!cookie.isString()) return Refuse(kWanted);
      std::optional<std::string> text = TextOf(cx_, cookie);
      if (!text) return Thrown();
      if (text->find_first_of(kLineBreaks) != std::string::npos) return Refuse(kWanted);
      if (!CountHeader(text->size())) return false;
      answer.cookies.push_back(*std::move(text));
    }
    return true;
  }

  bool ReadHeader(JS::HandleObject headers, JS::HandleId id, Answer& answer) {
    JS::RootedValue name(cx_);
    JS::RootedValue value(cx_);
    if (!JS_IdToValue(cx_, id, &name) || !JS_GetPropertyById(cx_, headers, id, &value)) {
      return Thrown();
    }
    std::optional<std::string> name_text = TextOf(cx_, name);
    if (!name_text) return Thrown();
    if (!value.isString() && !value.isNumber() && !value.isBoolean()) {
      return Refuse(fmt::format("the header \"{}\" must be a string", *name_text));
    }
    std::optional<std::string> text = TextOf(cx_, value);
    if (!text) return Thrown();
    if (text->find_first_of(kLineBreaks) != std::string::npos) {
      return Refuse(fmt::format("the header \"{}\" has a line break in its value", *name_text));
    }
    answer.headers.emplace_back(*std::move(name_text), *std::move(text));
    return true;
  }

  bool ReadBody(Answer& answer) {
    JS::RootedValue value(cx_);
    if (!Get("body", &value)) return false;
    if (value.isNullOrUndefined()) return true;
    if (!value.isString()) {
      return Refuse("body must be a string; use JSON.stringify, or return the value by itself");
    }
    std::optional<std::string> text = TextOf(cx_, value);
    if (!text) return Thrown();
    answer.body = *std::move(text);
    return true;
  }

  bool ReadBase64(Answer& answer) {
    JS::RootedValue value(cx_);
    if (!Get("isBase64Encoded", &value)) return false;
    if (value.isNullOrUndefined()) return true;
    if (!value.isBoolean()) return Refuse("isBase64Encoded must be true or false");
    answer.base64 = value.toBoolean();
    return true;
  }

  JSContext* cx_;
  JS::HandleObject object_;
  RunError& error_;
  size_t header_bytes_ = 0;
};

// Whether the object has a member of an answer. nullopt if asking has thrown.
std::optional<bool> LooksLikeAnswer(JSContext* cx, JS::HandleObject object) {
  bool is_array = false;
  if (!JS::IsArrayObject(cx, object, &is_array)) return std::nullopt;
  if (is_array) return false;
  for (const char* const name : {"statusCode", "headers", "body", "isBase64Encoded"}) {
    bool found = false;
    if (!JS_HasProperty(cx, object, name, &found)) return std::nullopt;
    if (found) return true;
  }
  return false;
}

struct JsonSink {
  std::u16string text;
  bool too_long = false;
};

bool AppendJson(const char16_t* units, uint32_t count, void* data) {
  auto* const sink = static_cast<JsonSink*>(data);
  if (sink->text.size() + count > kMaxBodyUnits) {
    sink->too_long = true;
    return false;
  }
  sink->text.append(units, count);
  return true;
}

// JSON text has no lone surrogates: they are escaped.
std::string Utf8OfUnits(const std::u16string& units) {
  constexpr size_t kMostBytesPerUnit = 3;
  std::string text(units.size() * kMostBytesPerUnit, '\0');
  int32_t size = 0;
  UErrorCode failure = U_ZERO_ERROR;
  u_strToUTF8WithSub(text.data(), static_cast<int32_t>(text.size()), &size, units.data(),
                     static_cast<int32_t>(units.size()), 0xFFFD, nullptr, &failure);
  text.resize(U_SUCCESS(failure) ? static_cast<size_t>(size) : 0);
  return text;
}

bool StringifyBody(JSContext* cx, JS::HandleValue value, Answer& answer, RunError& error) {
  JS::RootedValue copy(cx, value);
  JsonSink sink;
  if (!JS_Stringify(cx, &copy, nullptr, JS::UndefinedHandleValue, AppendJson, &sink)) {
    if (sink.too_long && !JS_IsExceptionPending(cx)) {
      error = Bad("the result is too long");
      return false;
    }
    error = TakeException(cx);
    // The function returned what is no JSON: not a mistake inside its code.
    if (error.type == "TypeError") error.type = "ValidationError";
    error.message = "the result cannot be written as JSON: " + error.message;
    return false;
  }
  answer.body = Utf8OfUnits(sink.text);
  answer.headers.emplace_back("content-type", "application/json");
  return true;
}

// The longest start of `body` that takes at most `room` bytes as a JSON string.
std::string_view FittingBody(std::string_view body, size_t room, bool base64) {
  constexpr size_t kLongestEscape = 6;
  constexpr size_t kBase64Group = 4;
  size_t end = 0;
  size_t used = 2;  // quotes
  while (end < body.size()) {
    const auto c = static_cast<unsigned char>(body[end]);
    const size_t width = c < 0x20U || c == 0x7FU ? kLongestEscape : (c == '"' || c == '\\' ? 2 : 1);
    if (used + width > room) break;
    used += width;
    ++end;
  }
  if (end < body.size()) {
    while (end > 0 && (static_cast<unsigned char>(body[end]) & 0xC0U) == 0x80U) --end;
    if (base64) end -= end % kBase64Group;
  }
  return body.substr(0, end);
}

ResultText Write(const Answer& answer) {
  ResultText out;
  out.json = fmt::format("{{\"statusCode\":{},\"headers\":{{", answer.status);
  const char* separator = "";
  for (const auto& [name, value] : answer.headers) {
    out.json += separator;
    separator = ",";
    AppendJsonString(name, out.json);
    out.json += ':';
    AppendJsonString(value, out.json);
  }
  const std::string end =
      fmt::format(",\"isBase64Encoded\":{}}}", answer.base64 ? "true" : "false");
  out.json += '}';
  if (!answer.cookies.empty()) {
    out.json += ",\"cookies\":[";
    for (const std::string& cookie : answer.cookies) {
      AppendJsonString(cookie, out.json);
      out.json += ',';
    }
    out.json.back() = ']';
  }
  out.json += ",\"body\":";
  const size_t used = out.json.size() + end.size();
  const std::string_view body =
      FittingBody(answer.body, wire::kMaxResultBytes - std::min(used, wire::kMaxResultBytes - 2),
                  answer.base64);
  out.truncated = body.size() < answer.body.size();
  AppendJsonString(body, out.json);
  out.json += end;
  return out;
}

}  // namespace

std::optional<ResultText> MakeResult(JSContext* cx, JS::HandleValue value, RunError& error) {
  Answer answer;
  if (value.isNullOrUndefined()) return Write(answer);
  if (value.isBigInt()) {
    error = Bad("the result cannot be written as JSON: it is a BigInt");
    return std::nullopt;
  }
  if (value.isSymbol() || (value.isObject() && JS::IsCallable(&value.toObject()))) {
    error = Bad("the result cannot be written as JSON: it is a function or a symbol");
    return std::nullopt;
  }
  if (value.isObject()) {
    const JS::RootedObject object(cx, &value.toObject());
    const std::optional<bool> is_answer = LooksLikeAnswer(cx, object);
    if (!is_answer) {
      error = TakeException(cx);
      return std::nullopt;
    }
    if (*is_answer) {
      if (!AnswerReader(cx, object, error).Read(answer)) return std::nullopt;
      return Write(answer);
    }
  }
  if (!StringifyBody(cx, value, answer, error)) return std::nullopt;
  return Write(answer);
}

}  // namespace cairn::functions
