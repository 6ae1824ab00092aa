#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "house/claims.h"
#include "house/dump.h"
#include "house/finding.h"
#include "house/layer.h"
#include "house/permissions.h"
#include "house/program.h"
#include "house/setting.h"
#include "house/verb.h"
#include "house/verify.h"
#include "store/space.h"

namespace cairn::house {

using CounterTest = bool (*)(store::Key key);

// The flags of settings and the names of commands that the program has besides its layers'.
struct Reserved {
  std::vector<std::string> flags;
  std::vector<std::string> verbs;
};

// What layers say about themselves before a server runs. The command line and `cairn verify` need
// no more than this. Made once by one thread; a constant after that.
class Declarations {
 public:
  // Has each layer declare. `layers` outlive the checks; settings and verbs need them no more.
  explicit Declarations(const Layers& layers, const Reserved& reserved = {});

  // The first thing that two layers have claimed; nullopt if there is none.
  const std::optional<Error>& collision() const { return claims_.collision(); }
  const Permissions& permissions() const { return permissions_; }
  const std::vector<LayerCheck>& checks() const { return checks_; }
  // In the order of the layers.
  const std::vector<Setting>& settings() const { return settings_; }
  const std::vector<Verb>& verbs() const { return verbs_; }
  const std::vector<LayerDump>& dumps() const { return dumps_; }
  const std::vector<std::string_view>& resource_kinds() const { return resource_kinds_; }
  const std::vector<ExamineFunction>& examinations() const { return examinations_; }
  // The program of this name; null if there is none.
  const Program* FindProgram(std::string_view name) const;
  // Whether a layer keeps a counter under this key.
  bool IsCounter(store::Key key) const;

  // For layers, in Declare.

  // Only this layer keeps rows in the space.
  void OwnSpace(store::Space space);
  void AddPermission(const Permission& permission);
  // A kind of resource that grants can name ("queue"), and that rows of the layer touch.
  void AddResourceKind(std::string_view kind);
  void AllowCommands(CommandUse use, doors::Touches touches,
                     std::initializer_list<std::string_view> commands) {
    permissions_.AllowCommands(use, touches, commands);
  }
  // The check of the layer's invariants: at most one. Used from any thread.
  void AddVerify(VerifyFunction run);
  // What an operator can choose about the layer; Layer::Configure tells it what was chosen.
  void AddSetting(Setting setting);
  // `cairn NAME …`. Its functions do not need the layer.
  void AddVerb(Verb verb);
  // How the layer is written as text and read again: at most one. Its functions do not need the
  // layer.
  void AddDump(LayerDump dump);
  // What `cairn doctor` looks at for the layer.
  void AddExamination(ExamineFunction examine);
  void AddProgram(const Program& program);
  // Which keys of the layer are counters of the store (Transaction::Add): a copy of the store adds
  // their values up.
  void AddCounters(CounterTest is_counter);

 private:
  Claims claims_;
  Permissions permissions_;
  std::vector<LayerCheck> checks_;
  std::vector<Setting> settings_;
  std::vector<Verb> verbs_;
  std::vector<LayerDump> dumps_;
  std::vector<std::string_view> resource_kinds_;
  std::vector<ExamineFunction> examinations_;
  std::vector<Program> programs_;
  std::vector<CounterTest> counters_;
};

}  // namespace cairn::house
