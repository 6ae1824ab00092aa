#include "functions/engine/exception.h"

#include <fmt/format.h>
#include <js/ErrorReport.h>
#include <js/Exception.h>
#include <js/PropertyAndElement.h>
#include <js/Stack.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "functions/engine/engine_impl.h"
#include "functions/engine/realm.h"
#include "functions/engine/text.h"
#include "functions/model/source_map.h"
#include "functions/protocol/limits.h"

namespace cairn::functions {
namespace {

// A property that should be text: nullopt if it is not, or if asking for it throws.
std::optional<std::string> TextProperty(JSContext* cx, JS::HandleObject object, const char* name) {
  JS::RootedValue value(cx);
  if (!JS_GetProperty(cx, object, name, &value)) {
    JS_ClearPendingException(cx);
    return std::nullopt;
  }
  if (!value.isString()) return std::nullopt;
  const JS::RootedString string(cx, value.toString());
  std::optional<std::string> text = Utf8Of(cx, string);
  if (!text) JS_ClearPendingException(cx);
  return text;
}

std::string StackText(JSContext* cx, JS::HandleObject stack) {
  if (stack == nullptr) return "";
  JS::RootedString string(cx);
  if (!JS::BuildStackString(cx, nullptr, stack, &string, 0, js::StackFormat::V8)) {
    JS_ClearPendingException(cx);
    return "";
  }
  std::optional<std::string> text = Utf8Of(cx, string);
  if (!text) JS_ClearPendingException(cx);
  return WithSources(cx, text.value_or(""));
}

// What a value that is no Error says about itself.
std::string ThrownText(JSContext* cx, JS::HandleValue thrown) {
  if (thrown.isSymbol()) return "a symbol was thrown";
  std::optional<std::string> text = TextOf(cx, thrown);
  if (text) return *std::move(text);
  JS_ClearPendingException(cx);
  return "a value was thrown that cannot be shown as text";
}

RunError Cut(const RunError& error) {
  return {.type = CleanText(error.type, wire::kMaxErrorTypeBytes),
          .message = CleanText(error.message, wire::kMaxErrorMessageBytes),
          .stack = CleanText(error.stack, wire::kMaxStackBytes)};
}

}  // namespace

std::string WithSources(JSContext* cx, std::string_view text) {
  // A line of a stack begins so. Most logs have none.
  if (text.find("at ") == std::string_view::npos) return std::string(text);
  const Realm* const realm = Realm::Of(JS::CurrentGlobalOrNull(cx));
  if (realm == nullptr || realm->loaded() == nullptr) return std::string(text);
  if (Engine::Impl::Of(cx).out_of_memory()) return std::string(text);
  const std::vector<SourceFile>& files = realm->loaded()->program->files;
  return MapStack(text, [&](std::string_view path) -> std::optional<std::string_view> {
    const auto file = std::ranges::find(files, path, &SourceFile::path);
    if (file == files.end()) return std::nullopt;
    return file->text;
  });
}

RunError DescribeThrown(JSContext* cx, JS::HandleValue thrown, JS::HandleObject stack) {
  RunError error{.type = "Exception", .message = {}};
  JS::RootedObject trace(cx, stack);
  if (thrown.isObject()) {
    const JS::RootedObject object(cx, &thrown.toObject());
    if (JSObject* const own = JS::ExceptionStackOrNull(object)) trace = own;
    const std::optional<std::string> message = TextProperty(cx, object, "message");
    if (message) {
      error.message = *message;
      const std::optional<std::string> name = TextProperty(cx, object, "name");
      if (name && !name->empty()) error.type = *name;
    } else {
      error.message = ThrownText(cx, thrown);
    }
  } else {
    error.message = ThrownText(cx, thrown);
  }
  error.stack = StackText(cx, trace);
  return Cut(error);
}

RunError TakeException(JSContext* cx) {
  if (!JS_IsExceptionPending(cx)) {
    return {.type = "InternalError", .message = "the activation was stopped"};
  }
  JS::ExceptionStack pending(cx);
  if (!JS::StealPendingExceptionStack(cx, &pending)) {
    JS_ClearPendingException(cx);
    return {.type = "InternalError", .message = "out of memory"};
  }
  return DescribeThrown(cx, pending.exception(), pending.stack());
}

std::string TakeSyntaxError(JSContext* cx) {
  if (!JS_IsExceptionPending(cx)) return "out of memory";
  JS::ExceptionStack pending(cx);
  JS::ErrorReportBuilder builder(cx);
  if (!JS::StealPendingExceptionStack(cx, &pending) ||
      !builder.init(cx, pending, JS::ErrorReportBuilder::NoSideEffects)) {
    JS_ClearPendingException(cx);
    return "out of memory";
  }
  const JSErrorReport* const report = builder.report();
  const std::string_view message = builder.toStringResult().c_str();
  if (report == nullptr || report->filename == nullptr || report->lineno == 0) {
    return CleanText(message, wire::kMaxErrorMessageBytes);
  }
  return CleanText(fmt::format("{}:{}: {}", report->filename, report->lineno, message),
                   wire::kMaxErrorMessageBytes);
}

}  // namespace cairn::functions
