#include "actors/operations/actor_json.h"

#include <fmt/format.h>

#include <iterator>

#include "actors/model/actor_key.h"
#include "base/json_text.h"

namespace cairn::actors {

void AppendActor(const ActorInfo& actor, std::string& out) {
  fmt::format_to(std::back_inserter(out), R"({{"actor_id":"{}","namespace":)", actor.id.ToString());
  AppendJsonString(actor.record.name_space, out);
  out += R"(,"name":)";
  AppendJsonString(actor.record.name, out);
  out += R"(,"key":[)";
  const auto parts = ParseActorKey(actor.record.key);
  for (size_t i = 0; parts && i < parts->size(); ++i) {
    if (i > 0) out.push_back(',');
    AppendJsonString((*parts)[i], out);
  }
  fmt::format_to(std::back_inserter(out),
                 R"(],"created_at_ms":{},"generation":{},"revision":{},"entries":{},"bytes":{}}})",
                 actor.record.created_ms, actor.state.generation, actor.state.revision,
                 actor.state.entries, actor.state.bytes);
}

std::string ActorJson(const ActorInfo& actor) {
  std::string out;
  AppendActor(actor, out);
  return out;
}

std::string MadeActorJson(const MadeActor& made) {
  return fmt::format(R"({{"actor":{},"created":{}}})", ActorJson(made.actor), made.created);
}

std::string ActorsJson(const ActorsPage& page) {
  std::string out = R"({"actors":[)";
  for (const ActorInfo& actor : page.actors) {
    if (out.back() != '[') out.push_back(',');
    AppendActor(actor, out);
  }
  out += R"(],"next":)";
  if (page.next.empty()) {
    out += "null";
  } else {
    AppendJsonString(page.next, out);
  }
  return out + "}";
}

}  // namespace cairn::actors
