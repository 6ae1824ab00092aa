#pragma once

#include <jsapi.h>

#include <optional>
#include <string>
#include <string_view>

namespace cairn::functions {

// `string` as UTF-8; lone surrogates become U+FFFD. nullopt, with an exception pending, if memory
// ran out.
std::optional<std::string> Utf8Of(JSContext* cx, JS::HandleString string);
// The same of any value, by its toString. It can throw.
std::optional<std::string> TextOf(JSContext* cx, JS::HandleValue value);
// Null, with an exception pending, if `text` is not UTF-8 or memory ran out.
JSString* StringOf(JSContext* cx, std::string_view text);
// The value of JSON text. False, with an exception pending, if it is none.
bool ParseJson(JSContext* cx, std::string_view text, JS::MutableHandleValue value);

// Leaves a TypeError pending. Always false.
bool ThrowTypeError(JSContext* cx, const char* message);

}  // namespace cairn::functions
