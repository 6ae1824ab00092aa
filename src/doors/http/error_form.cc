#include "doors/http/error_form.h"

#include <cctype>

#include "base/json_text.h"

namespace cairn::doors {

std::string StandardErrorBody(const ToldError& error, std::string_view subject_name) {
  std::string code(error.code == "not_json" ? "invalid" : error.code);
  for (char& c : code) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::string body = R"({"error":{"code":)";
  const auto add = [&body](std::string_view name, std::string_view value) {
    body.push_back(',');
    AppendJsonString(name, body);
    body.push_back(':');
    AppendJsonString(value, body);
  };
  AppendJsonString(code, body);
  add("message", error.message);
  add("request_id", error.request_id);
  if (!error.subject.empty()) add(subject_name, error.subject);
  return body + "}}";
}

}  // namespace cairn::doors
