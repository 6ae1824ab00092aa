#pragma once

#include <jsapi.h>

#include <optional>
#include <string>
#include <string_view>

#include "functions/protocol/program.h"

namespace cairn::functions {

// What a handler returned, as the JSON that callers get:
//   {"statusCode":200,"headers":{"name":"value"},"body":"text","isBase64Encoded":false}
// and, before the body, "cookies":["a=b"] if there are any: each is a Set-Cookie header.
struct ResultText {
  std::string json;
  bool truncated = false;
};

// An object with one of these members answers as it says; undefined and null are an empty answer;
// anything else is a body of JSON. nullopt, with `error` filled, if the value cannot be an answer,
// or if asking it throws.
std::optional<ResultText> MakeResult(JSContext* cx, JS::HandleValue value, RunError& error);

}  // namespace cairn::functions
