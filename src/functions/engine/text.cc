#include "functions/engine/text.h"

#include <js/CharacterEncoding.h>
#include <js/Conversions.h>
#include <js/ErrorReport.h>
#include <js/JSON.h>
#include <js/String.h>
#include <mozilla/Span.h>

namespace cairn::functions {
namespace {

const JSErrorFormatString* TypeErrorFormat(void* /*data*/, unsigned /*number*/) {
  static constexpr JSErrorFormatString kFormat = {"CAIRN_TYPE_ERROR", "{0}", 1, JSEXN_TYPEERR};
  return &kFormat;
}

}  // namespace

std::optional<std::string> Utf8Of(JSContext* cx, JS::HandleString string) {
  constexpr size_t kMostBytesPerUnit = 3;
  JSLinearString* const linear = JS_EnsureLinearString(cx, string);
  if (linear == nullptr) return std::nullopt;
  std::string text(JS_GetStringLength(string) * kMostBytesPerUnit, '\0');
  const auto written =
      JS_EncodeStringToUTF8BufferPartial(cx, string, mozilla::Span<char>(text.data(), text.size()));
  if (!written) {
    JS_ReportOutOfMemory(cx);
    return std::nullopt;
  }
  text.resize(mozilla::Get<1>(*written));
  return text;
}

std::optional<std::string> TextOf(JSContext* cx, JS::HandleValue value) {
  const JS::RootedString string(cx, JS::ToString(cx, value));
  if (string == nullptr) return std::nullopt;
  return Utf8Of(cx, string);
}

JSString* StringOf(JSContext* cx, std::string_view text) {
  return JS_NewStringCopyUTF8N(cx, JS::UTF8Chars(text.data(), text.size()));
}

bool ParseJson(JSContext* cx, std::string_view text, JS::MutableHandleValue value) {
  const JS::RootedString string(cx, StringOf(cx, text));
  return string != nullptr && JS_ParseJSON(cx, string, value);
}

bool ThrowTypeError(JSContext* cx, const char* message) {
  JS_ReportErrorNumberUTF8(cx, TypeErrorFormat, nullptr, 1, message);
  return false;
}

}  // namespace cairn::functions
