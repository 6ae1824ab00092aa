#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doors/resp/command.h"
#include "doors/resp/command_table.h"

// What a user may do, as Redis's rules write it down:
//
//   on off                            may log in, or not
//   nopass >p <p #hash !hash resetpass   passwords, kept as SHA-256 in hexadecimal
//   +get -get +config|get +@read -@all   commands; allcommands, nocommands
//   ~p %R~p %W~p allkeys resetkeys    keys that match, to read, to write or both
//   &p allchannels resetchannels      channels that match
//   (+set ~s*)                        a selector: another set of the above, enough by itself
//   reset                             as a new user: may do nothing
//
// Plain values; used by one thread at a time.
namespace cairn::doors {

// Why a call is refused, from the least to the most telling.
enum class AclReason { kCommand, kKey, kChannel };

struct AclRefusal {
  AclReason reason;
  size_t argument = 0;  // the index of the key or channel

  friend bool operator==(const AclRefusal&, const AclRefusal&) = default;
};

// SHA-256 in hexadecimal: how passwords and keys are stored.
std::string SecretHash(std::string_view secret);

// "keyspace", "read" … in the order of ACL CAT.
std::span<const std::string_view> AclCategories();
// Whether `command` is in the category, given without @ and in any case.
bool IsInCategory(const Command& command, std::string_view category);

// One set of commands, keys and channels. A new one allows nothing.
class AclSelector {
 public:
  // The message of an error is the part behind "Error in ACL SETUSER modifier '…': ".
  Result<void> Apply(std::string_view rule, const CommandTable& table);

  std::optional<AclRefusal> Check(const Command& command, Args args) const;
  // Whether it may listen to, or send to, this channel; a pattern must be listed as it is.
  bool AllowsChannel(std::string_view channel, bool is_pattern) const;
  bool ReadsAllKeys() const;
  bool AllowsEverything() const { return AllowsAllCommands() && all_keys_ && all_channels_; }

  std::string Commands() const;  // "-@all +get"
  std::string Keys() const;      // "~a %R~b"
  std::string Channels() const;  // "&a &b"
  // All of it, as ACL LIST shows it.
  std::string Describe() const;

 private:
  struct CommandRule {
    bool allow;
    std::string name;       // "@read", "get", "config|get"
    std::string first_arg;  // of "select|0"
  };
  struct KeyPattern {
    std::string pattern;
    bool read;
    bool write;
  };

  bool AllowsAllCommands() const { return all_commands_ && rules_.empty(); }
  Result<void> ApplyCommand(bool allow, std::string_view name, const CommandTable& table);
  Result<void> ApplyKeys(std::string_view rule);
  Result<void> ApplyChannel(std::string_view pattern);
  void AddRule(CommandRule rule, const CommandTable& table);
  std::vector<bool> AllowedBy(std::span<const CommandRule> rules, const CommandTable& table) const;
  bool AllowsCommand(const Command& command, Args args) const;
  bool AllowsKey(std::string_view key, bool read, bool write) const;

  bool all_commands_ = false;  // what rules_ start from
  std::vector<CommandRule> rules_;
  std::vector<bool> allowed_;  // by Command::index, what rules_ come to
  bool all_keys_ = false;
  std::vector<KeyPattern> keys_;
  bool all_channels_ = false;
  std::vector<std::string> channels_;
};

// All rules of one user. A new one is off and may do nothing.
class AclRules {
 public:
  // What the user "default" begins with: on, without password, may do everything.
  static AclRules Everything(const CommandTable& table);

  // Applies the rules in order, all or none. The message of an error is the whole reply.
  Result<void> Apply(Args rules, const CommandTable& table);

  std::optional<AclRefusal> Check(const Command& command, Args args) const;
  // Whether the call may also read keys that its arguments do not name: SORT's BY and GET.
  bool MayReadAnyKey(const Command& command, Args args) const;
  bool AllowsChannel(std::string_view channel, bool is_pattern) const;
  bool AllowsEverything() const { return root_.AllowsEverything(); }
  // Takes the same time whatever the difference.
  bool AcceptsPassword(std::string_view password) const;

  bool on() const { return on_; }
  bool nopass() const { return nopass_; }
  const std::vector<std::string>& passwords() const { return passwords_; }
  const AclSelector& root() const { return root_; }
  const std::vector<AclSelector>& selectors() const { return selectors_; }
  // The rules that make a new user this one, separated by spaces; also what is stored.
  std::string Describe() const;

 private:
  Result<void> ApplyOne(std::string_view rule, const CommandTable& table);
  Result<void> ApplyPassword(std::string_view rule);
  Result<void> ApplySelector(std::string_view inside, const CommandTable& table);

  bool on_ = false;
  bool nopass_ = false;
  std::vector<std::string> passwords_;  // hashes
  AclSelector root_;
  std::vector<AclSelector> selectors_;
};

}  // namespace cairn::doors
