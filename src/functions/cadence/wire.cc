#include "functions/cadence/wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "functions/cadence/limits.h"

namespace cairn::functions {

std::optional<std::string> FrontendUrl(std::string_view text) {
  if (text.empty()) return std::string();
  std::string url(text);
  if (url.find("://") == std::string::npos) url.insert(0, "http://");
  while (url.ends_with('/')) url.pop_back();
  const bool http = url.starts_with("http://") || url.starts_with("https://");
  if (!http || !outside::IsUrl(url) || outside::HostOfUrl(url).empty()) return std::nullopt;
  if (url.find_first_of("?#@ ") != std::string::npos) return std::nullopt;
  return url;
}

outside::HttpCall FrontendCall(std::string url, std::string body) {
  outside::HttpCall call;
  call.method = "POST";
  call.url = std::move(url);
  call.body = std::move(body);
  call.user_agent = "cairn-cadence";
  call.policy = *outside::AddressPolicy::Parse("::/0");
  call.plural = "requests to Cadence";
  call.connect_timeout = kFrontendConnectTimeout;
  call.timeout = kCallTimeout;
  call.max_answer_bytes = kMaxCallAnswerBytes;
  return call;
}

Result<void> CheckTask(const ActivityTask& task) {
  const auto too_large = [](std::string_view what, size_t most) {
    return Error{ErrorCode::kTooLarge,
                 fmt::format("a task's {} has more than {} bytes", what, most)};
  };
  if (task.token.size() > kMaxTaskTokenBytes) return too_large("token", kMaxTaskTokenBytes);
  for (const std::string* text :
       {&task.workflow_id, &task.run_id, &task.activity_id, &task.activity_type}) {
    if (text->size() > kMaxTaskTextBytes) return too_large("name or id", kMaxTaskTextBytes);
  }
  return {};
}

}  // namespace cairn::functions
