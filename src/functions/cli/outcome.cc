#include "functions/cli/outcome.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "base/base64.h"
#include "functions/cli/call.h"

namespace cairn::functions::cli {
namespace {

namespace json = boost::json;

std::string BodyOf(const json::value& result) {
  std::string body = TextOf(result, "body");
  if (TextOf(result, "isBase64Encoded") == "true") {
    if (std::optional<Bytes> bytes = Base64Decode(body)) return *std::move(bytes);
  }
  return body;
}

const json::value* ObjectOf(const json::value& outcome, std::string_view member) {
  const json::value* const found = outcome.as_object().if_contains(member);
  return found != nullptr && found->is_object() ? found : nullptr;
}

}  // namespace

std::string ErrorText(const json::value& error) {
  std::string text = fmt::format("{}: {}", TextOf(error, "type"), TextOf(error, "message"));
  const std::string stack = TextOf(error, "stack");
  if (!stack.empty()) text += "\n" + stack;
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

void PrintOutcome(const json::value& outcome, std::string_view id,
                  const house::Terminal& /*terminal*/) {
  if (const json::value* const result = ObjectOf(outcome, "result")) {
    const std::string body = BodyOf(*result);
    std::fwrite(body.data(), 1, body.size(), stdout);
    if (!body.empty() && !body.ends_with('\n')) std::fputc('\n', stdout);
    std::fflush(stdout);
  }
  std::string line = TextOf(outcome, "status");
  if (const json::value* const result = ObjectOf(outcome, "result")) {
    line += " " + TextOf(*result, "statusCode");
  }
  line += fmt::format("  {} ms", TextOf(outcome, "duration_ms"));
  if (const json::value* const usage = ObjectOf(outcome, "usage")) {
    line += fmt::format("  {} us of processor time  {} KiB", TextOf(*usage, "cpu_us"),
                        usage->at("peak_memory_bytes").to_number<int64_t>() / 1024);
  }
  const std::string limit = TextOf(outcome, "limit_hit");
  if (!limit.empty()) line += "  limit: " + limit;
  if (!id.empty()) line += fmt::format("  {}", id);
  Note(line);
  if (const json::value* const error = ObjectOf(outcome, "error")) Note(ErrorText(*error));
}

}  // namespace cairn::functions::cli
