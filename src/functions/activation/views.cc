#include "functions/activation/views.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "functions/model/errors.h"
#include "functions/model/json_writer.h"
#include "functions/model/keys.h"
#include "functions/model/names.h"

namespace cairn::functions {
namespace {

Error NoActivation(std::string_view id) {
  return Refuse(Code::kNotFound, fmt::format("there is no activation {}", Printable(id, 64)));
}

}  // namespace

Result<Activation> FindActivation(store::Transaction& transaction, const doors::NamePatterns* names,
                                  std::string_view tenant, std::string_view id) {
  CAIRN_RETURN_IF_ERROR(CheckName(NameKind::kTenant, tenant));
  CAIRN_RETURN_IF_ERROR(CheckName(NameKind::kActivation, id));
  CAIRN_ASSIGN_OR_RETURN(std::optional<Activation> activation,
                         LoadActivation(transaction, tenant, id));
  if (!activation) return NoActivation(id);
  const FunctionName function{std::string(tenant), activation->ns, activation->ref.function};
  if (names != nullptr && !names->Allows(ResourceName(function))) return NoActivation(id);
  return *std::move(activation);
}

Result<LogPage> ReadLog(store::Transaction& transaction, const doors::NamePatterns* names,
                        std::string_view tenant, std::string_view id, uint64_t from, size_t limit) {
  CAIRN_ASSIGN_OR_RETURN(const Activation activation,
                         FindActivation(transaction, names, tenant, id));
  LogPage page{.cursor = from, .ended = IsTerminal(activation.status)};
  CAIRN_ASSIGN_OR_RETURN(page.chunks, ReadLogChunks(transaction, tenant, id, from, limit));
  if (!page.chunks.empty()) page.cursor = page.chunks.back().number + 1;
  return page;
}

std::string AnswerText(const InvocationResult& result) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("activation_id", result.activation_id);
  json.Text("status", StatusName(result.status));
  if (result.result) {
    WriteFunctionResult(*result.result, "result", json);
  } else {
    json.Null("result");
  }
  json.Integer("duration_ms", result.duration_ms);
  if (result.error) {
    WriteFunctionError(*result.error, "error", json);
  } else {
    json.Null("error");
  }
  json.EndObject();
  return text;
}

std::string AcceptedText(std::string_view activation, Status status) {
  return fmt::format(R"({{"activation_id":"{}","status":"{}"}})", activation, StatusName(status));
}

std::string LogText(const LogPage& page) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  std::vector<std::string> chunks;
  for (const LogChunk& chunk : page.chunks) chunks.push_back(chunk.text);
  json.Texts("chunks", chunks);
  json.Integer("first", page.cursor - page.chunks.size());
  json.Text("cursor", fmt::to_string(page.cursor));
  json.EndObject();
  return text;
}

}  // namespace cairn::functions
