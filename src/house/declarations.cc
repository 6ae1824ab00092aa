#include "house/declarations.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace cairn::house {

Declarations::Declarations(const Layers& layers, const Reserved& reserved) {
  claims_.set_layer("app");
  for (const std::string& flag : reserved.flags) claims_.Claim(fmt::format("the setting {}", flag));
  for (const std::string& name : reserved.verbs) claims_.Claim(fmt::format("the verb {}", name));
  for (const std::unique_ptr<Layer>& layer : layers) {
    claims_.set_layer(layer->name());
    claims_.Claim(fmt::format("the name {}", layer->name()));
    layer->Declare(*this);
  }
}

void Declarations::OwnSpace(store::Space space) {
  claims_.Claim(fmt::format("the space {}", store::SpaceName(space)));
}

void Declarations::AddPermission(const Permission& permission) {
  if (claims_.Claim(fmt::format("the permission {}", permission.name))) {
    permissions_.Add(permission);
  }
}

void Declarations::AddVerify(VerifyFunction run) {
  if (claims_.Claim(fmt::format("the verification of {}", claims_.layer()))) {
    checks_.push_back({claims_.layer(), std::move(run)});
  }
}

// By its flag: `a.b` and `a_b` are spelled alike there.
void Declarations::AddSetting(Setting setting) {
  if (claims_.Claim(fmt::format("the setting {}", setting.flag()))) {
    settings_.push_back(std::move(setting));
  }
}

void Declarations::AddResourceKind(std::string_view kind) {
  if (claims_.Claim(fmt::format("the resource kind {}", kind))) resource_kinds_.push_back(kind);
}

void Declarations::AddVerb(Verb verb) {
  if (claims_.Claim(fmt::format("the verb {}", verb.name))) verbs_.push_back(std::move(verb));
}

void Declarations::AddDump(LayerDump dump) {
  if (!claims_.Claim(fmt::format("the dump of {}", claims_.layer()))) return;
  dump.layer = claims_.layer();
  dumps_.push_back(std::move(dump));
}

void Declarations::AddExamination(ExamineFunction examine) {
  examinations_.push_back(std::move(examine));
}

void Declarations::AddProgram(const Program& program) {
  if (claims_.Claim(fmt::format("the verb {}", program.name))) programs_.push_back(program);
}

void Declarations::AddCounters(CounterTest is_counter) { counters_.push_back(is_counter); }

const Program* Declarations::FindProgram(std::string_view name) const {
  const auto found = std::ranges::find(programs_, name, &Program::name);
  return found == programs_.end() ? nullptr : &*found;
}

bool Declarations::IsCounter(store::Key key) const {
  return std::ranges::any_of(counters_, [&](CounterTest is_counter) { return is_counter(key); });
}

}  // namespace cairn::house
