#include "doors/resp/acl_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/glob.h"

namespace cairn::doors {
namespace {

// The texts are Redis's: clients show them to people.
Error SyntaxMistake() { return {ErrorCode::kInvalid, "Syntax error"}; }
Error UnknownName() { return {ErrorCode::kInvalid, "Unknown command or category name in ACL"}; }
Error NoSuchPassword() {
  return {ErrorCode::kInvalid,
          "The password you are trying to remove from the user does not exist"};
}
Error PatternAfterAll(std::string_view flag, std::string_view reset, std::string_view list) {
  return {ErrorCode::kInvalid,
          fmt::format("Adding a pattern after the * pattern (or the '{}' flag) is not valid and "
                      "does not have any effect. Try '{}' to start with an empty list of {}",
                      flag, reset, list)};
}

constexpr std::array<std::string_view, 21> kCategories = {
    "keyspace", "read",   "write",       "set",       "sortedset",  "list",        "hash",
    "string",   "bitmap", "hyperloglog", "geo",       "stream",     "pubsub",      "admin",
    "fast",     "slow",   "blocking",    "dangerous", "connection", "transaction", "scripting",
};

std::string Lowered(std::string_view text) {
  std::string lowered(text);
  std::ranges::transform(lowered, lowered.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lowered;
}

bool IsHash(std::string_view text) {
  return text.size() == 64 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// Both are hashes, whose length is no secret.
bool EqualInConstantTime(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

bool HasSpace(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return std::isspace(c) != 0 || c == 0; });
}

// --- Which keys a call reads and writes ----------------------------------------------------------

struct KeyUse {
  bool read = false;
  bool write = false;
};

KeyUse UseOf(std::string_view access) {
  KeyUse use;
  for (const std::string_view word : SplitWords(access)) {
    use.read = use.read || word == "access";
    use.write = use.write || word == "update" || word == "insert" || word == "delete";
  }
  return use;
}

KeyUse UseOfKey(const Command& command, Args args, size_t index) {
  const std::string_view access = AccessOfKey(command, args, index);
  if (!access.empty()) return UseOf(access);
  // Where no spec tells, the worst is assumed.
  return {.read = true, .write = !command.Has(kReadOnly)};
}

// --- Which channels a call names ----------------------------------------------------------------

struct ChannelUse {
  std::string_view command;
  bool many;
  bool patterns;
};

constexpr ChannelUse kChannelUses[] = {
    {"publish", false, false},   {"spublish", false, false}, {"subscribe", true, false},
    {"ssubscribe", true, false}, {"psubscribe", true, true},
};

const ChannelUse* ChannelUseOf(const Command& command) {
  if (!command.Has(kPubSub)) return nullptr;
  const auto* found = std::ranges::find(kChannelUses, command.name, &ChannelUse::command);
  return found == std::end(kChannelUses) ? nullptr : found;
}

// The more telling of two refusals by different selectors.
std::optional<AclRefusal> MoreTelling(const AclRefusal& a, const AclRefusal& b) {
  if (a.reason != b.reason) return a.reason > b.reason ? a : b;
  return a.argument >= b.argument ? a : b;
}

}  // namespace

std::string SecretHash(std::string_view secret) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  CAIRN_CHECK(
      EVP_Digest(secret.data(), secret.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1);
  return HexEncode({reinterpret_cast<const char*>(digest.data()), size});
}

std::span<const std::string_view> AclCategories() { return kCategories; }

bool IsInCategory(const Command& command, std::string_view category) {
  return std::ranges::any_of(CategoryNames(command), [&](std::string_view name) {
    return EqualsIgnoreCase(name.substr(1), category);
  });
}

// --- AclSelector --------------------------------------------------------------------------------

Result<void> AclSelector::Apply(std::string_view rule, const CommandTable& table) {
  const auto is = [&](std::string_view word) { return EqualsIgnoreCase(rule, word); };
  if (is("allkeys")) rule = "~*";
  if (is("allchannels")) rule = "&*";
  if (is("allcommands")) rule = "+@all";
  if (is("nocommands")) rule = "-@all";
  if (is("resetkeys")) {
    all_keys_ = false;
    keys_.clear();
    return {};
  }
  if (is("resetchannels")) {
    all_channels_ = false;
    channels_.clear();
    return {};
  }
  if (rule.empty() || HasSpace(rule)) return SyntaxMistake();
  switch (rule.front()) {
    case '+':
    case '-':
      return ApplyCommand(rule.front() == '+', rule.substr(1), table);
    case '~':
    case '%':
      return ApplyKeys(rule);
    case '&':
      return ApplyChannel(rule.substr(1));
    default:
      return SyntaxMistake();
  }
}

Result<void> AclSelector::ApplyCommand(bool allow, std::string_view name,
                                       const CommandTable& table) {
  const std::string lowered = Lowered(name);
  if (lowered == "@all") {
    all_commands_ = allow;
    rules_.clear();
    allowed_.assign(table.row_count(), allow);
    return {};
  }
  if (lowered.starts_with('@')) {
    if (std::ranges::find(kCategories, std::string_view(lowered).substr(1)) == kCategories.end()) {
      return UnknownName();
    }
    AddRule({allow, lowered, ""}, table);
    return {};
  }
  if (table.FindByName(lowered) != nullptr) {
    AddRule({allow, lowered, ""}, table);
    return {};
  }
  // "select|0": the command with this first argument only.
  const size_t bar = lowered.rfind('|');
  if (bar == std::string::npos) return UnknownName();
  const Command* command = table.FindByName(lowered.substr(0, bar));
  const std::string first_arg = lowered.substr(bar + 1);
  if (command != nullptr && command->container != nullptr) {
    return Error{ErrorCode::kInvalid, "Allowing first-arg of a subcommand is not supported"};
  }
  if (!allow || command == nullptr || !command->subcommands.empty() || first_arg.empty()) {
    return UnknownName();
  }
  AddRule({allow, std::string(command->name), first_arg}, table);
  return {};
}

// Keeps only what makes a difference: a later rule about the same replaces an earlier one.
void AclSelector::AddRule(CommandRule rule, const CommandTable& table) {
  std::erase_if(rules_, [&](const CommandRule& old) {
    if (!rule.first_arg.empty()) return old.name == rule.name && old.first_arg == rule.first_arg;
    return old.name == rule.name || old.name.starts_with(rule.name + "|");
  });
  const std::vector<bool> before = AllowedBy(rules_, table);
  rules_.push_back(std::move(rule));
  allowed_ = AllowedBy(rules_, table);
  if (rules_.back().first_arg.empty() && allowed_ == before) rules_.pop_back();
}

std::vector<bool> AclSelector::AllowedBy(std::span<const CommandRule> rules,
                                         const CommandTable& table) const {
  std::vector<bool> allowed(table.row_count(), all_commands_);
  for (const CommandRule& rule : rules) {
    if (!rule.first_arg.empty()) continue;
    for (size_t i = 0; i < table.row_count(); ++i) {
      const Command& row = table.row(i);
      const bool meant = rule.name.starts_with('@')
                             ? IsInCategory(row, std::string_view(rule.name).substr(1))
                             : row.name == rule.name ||
                                   (row.container != nullptr && row.container->name == rule.name);
      if (meant) allowed[i] = rule.allow;
    }
  }
  return allowed;
}

Result<void> AclSelector::ApplyKeys(std::string_view rule) {
  KeyPattern added{.pattern = "", .read = true, .write = true};
  if (rule.front() == '%') {
    // Without a pattern it names the empty key.
    const size_t tilde = std::min(rule.find('~'), rule.size());
    if (tilde == 1) return SyntaxMistake();
    added.read = added.write = false;
    for (const char c : rule.substr(1, tilde - 1)) {
      const int letter = std::toupper(static_cast<unsigned char>(c));
      if (letter != 'R' && letter != 'W') return SyntaxMistake();
      (letter == 'R' ? added.read : added.write) = true;
    }
    rule.remove_prefix(tilde);
  }
  if (!rule.empty()) added.pattern = rule.substr(1);
  if (added.pattern == "*" && added.read && added.write) {
    all_keys_ = true;
    keys_.clear();
    return {};
  }
  if (all_keys_) return PatternAfterAll("allkeys", "resetkeys", "patterns");
  const auto same = std::ranges::find(keys_, added.pattern, &KeyPattern::pattern);
  if (same == keys_.end()) {
    keys_.push_back(std::move(added));
  } else {
    same->read = same->read || added.read;
    same->write = same->write || added.write;
  }
  return {};
}

Result<void> AclSelector::ApplyChannel(std::string_view pattern) {
  if (pattern == "*") {
    all_channels_ = true;
    channels_.clear();
  } else if (all_channels_) {
    return PatternAfterAll("allchannels", "resetchannels", "channels");
  } else if (std::ranges::find(channels_, pattern) == channels_.end()) {
    channels_.emplace_back(pattern);
  }
  return {};
}

bool AclSelector::AllowsCommand(const Command& command, Args args) const {
  // Who may not say who they are could never become somebody else.
  if (AllowsAllCommands() || command.Has(kNoAuth)) return true;
  if (command.index < allowed_.size() && allowed_[command.index]) return true;
  return args.size() > 1 && std::ranges::any_of(rules_, [&](const CommandRule& rule) {
           return !rule.first_arg.empty() && rule.name == command.name &&
                  EqualsIgnoreCase(rule.first_arg, args[1]);
         });
}

bool AclSelector::AllowsKey(std::string_view key, bool read, bool write) const {
  return std::ranges::any_of(keys_, [&](const KeyPattern& pattern) {
    return (pattern.read || !read) && (pattern.write || !write) && GlobMatch(pattern.pattern, key);
  });
}

bool AclSelector::AllowsChannel(std::string_view channel, bool is_pattern) const {
  return all_channels_ || std::ranges::any_of(channels_, [&](const std::string& allowed) {
           return is_pattern ? allowed == channel : GlobMatch(allowed, channel);
         });
}

std::optional<AclRefusal> AclSelector::Check(const Command& command, Args args) const {
  if (!AllowsCommand(command, args)) return AclRefusal{AclReason::kCommand};
  if (!all_keys_ && (!command.keys.empty() || command.find_keys)) {
    for (const size_t index : FindKeys(command, args)) {
      const KeyUse use = UseOfKey(command, args, index);
      if (!AllowsKey(args[index], use.read, use.write)) {
        return AclRefusal{AclReason::kKey, index};
      }
    }
  }
  const ChannelUse* channels = all_channels_ ? nullptr : ChannelUseOf(command);
  if (channels == nullptr) return std::nullopt;
  const size_t end = channels->many ? args.size() : 2;
  for (size_t i = 1; i < end; ++i) {
    if (!AllowsChannel(args[i], channels->patterns)) return AclRefusal{AclReason::kChannel, i};
  }
  return std::nullopt;
}

bool AclSelector::ReadsAllKeys() const {
  return all_keys_ || std::ranges::any_of(keys_, [](const KeyPattern& key) {
           return key.read && key.pattern == "*";
         });
}

std::string AclSelector::Commands() const {
  std::string text = all_commands_ ? "+@all" : "-@all";
  for (const CommandRule& rule : rules_) {
    text += fmt::format(" {}{}", rule.allow ? '+' : '-', rule.name);
    if (!rule.first_arg.empty()) text += "|" + rule.first_arg;
  }
  return text;
}

std::string AclSelector::Keys() const {
  if (all_keys_) return "~*";
  std::vector<std::string> texts;
  for (const KeyPattern& key : keys_) {
    const std::string_view prefix = key.read && key.write ? "" : key.read ? "%R" : "%W";
    texts.push_back(fmt::format("{}~{}", prefix, key.pattern));
  }
  return fmt::format("{}", fmt::join(texts, " "));
}

std::string AclSelector::Channels() const {
  if (all_channels_) return "&*";
  std::vector<std::string> texts;
  for (const std::string& channel : channels_) texts.push_back("&" + channel);
  return fmt::format("{}", fmt::join(texts, " "));
}

std::string AclSelector::Describe() const {
  std::vector<std::string> parts;
  if (std::string keys = Keys(); !keys.empty()) parts.push_back(std::move(keys));
  if (!all_channels_) parts.emplace_back("resetchannels");
  if (std::string channels = Channels(); !channels.empty()) parts.push_back(std::move(channels));
  parts.push_back(Commands());
  return fmt::format("{}", fmt::join(parts, " "));
}

// --- AclRules -----------------------------------------------------------------------------------

AclRules AclRules::Everything(const CommandTable& table) {
  AclRules rules;
  constexpr std::string_view kRules[] = {"on", "nopass", "~*", "&*", "+@all"};
  CAIRN_CHECK(rules.Apply(kRules, table).ok());
  return rules;
}

Result<void> AclRules::Apply(Args rules, const CommandTable& table) {
  AclRules changed = *this;
  for (size_t i = 0; i < rules.size(); ++i) {
    std::string rule(rules[i]);
    // A selector may have come as several arguments.
    if (rule.starts_with('(')) {
      while (!rule.ends_with(')')) {
        if (++i == rules.size()) {
          return Error{ErrorCode::kInvalid,
                       fmt::format("ERR Unmatched parenthesis in acl selector starting at '{}'.",
                                   Quotable(rule.substr(0, rule.find(' '))))};
        }
        rule += fmt::format(" {}", rules[i]);
      }
    }
    if (const Result<void> applied = changed.ApplyOne(rule, table); !applied.ok()) {
      return Error{ErrorCode::kInvalid, fmt::format("ERR Error in ACL SETUSER modifier '{}': {}",
                                                    Quotable(rule), applied.error().message)};
    }
  }
  *this = std::move(changed);
  return {};
}

Result<void> AclRules::ApplyOne(std::string_view rule, const CommandTable& table) {
  const auto is = [&](std::string_view word) { return EqualsIgnoreCase(rule, word); };
  if (is("on") || is("off")) {
    on_ = is("on");
  } else if (is("nopass") || is("resetpass")) {
    nopass_ = is("nopass");
    passwords_.clear();
  } else if (is("reset")) {
    *this = AclRules();
  } else if (is("clearselectors")) {
    selectors_.clear();
  } else if (is("sanitize-payload") || is("skip-sanitize-payload")) {
    // RESTORE always checks.
  } else if (rule.starts_with('(') && rule.ends_with(')')) {
    return ApplySelector(rule.substr(1, rule.size() - 2), table);
  } else if (!rule.empty() && std::string_view("><#!").find(rule.front()) != std::string::npos) {
    return ApplyPassword(rule);
  } else {
    return root_.Apply(rule, table);
  }
  return {};
}

Result<void> AclRules::ApplyPassword(std::string_view rule) {
  const bool given_as_hash = rule.front() == '#' || rule.front() == '!';
  const bool add = rule.front() == '>' || rule.front() == '#';
  if (given_as_hash && !IsHash(rule.substr(1))) {
    return Error{ErrorCode::kInvalid,
                 "The password hash must be exactly 64 characters and contain only lowercase "
                 "hexadecimal characters"};
  }
  const std::string hash = given_as_hash ? std::string(rule.substr(1)) : SecretHash(rule.substr(1));
  const auto known = std::ranges::find(passwords_, hash);
  if (add) {
    if (known == passwords_.end()) passwords_.push_back(hash);
    nopass_ = false;
  } else {
    if (known == passwords_.end()) return NoSuchPassword();
    passwords_.erase(known);
  }
  return {};
}

Result<void> AclRules::ApplySelector(std::string_view inside, const CommandTable& table) {
  AclSelector selector;
  for (const std::string_view rule : SplitWords(inside)) {
    CAIRN_RETURN_IF_ERROR(selector.Apply(rule, table));
  }
  selectors_.push_back(std::move(selector));
  return {};
}

std::optional<AclRefusal> AclRules::Check(const Command& command, Args args) const {
  std::optional<AclRefusal> refusal = root_.Check(command, args);
  for (const AclSelector& selector : selectors_) {
    if (!refusal) return std::nullopt;
    const std::optional<AclRefusal> other = selector.Check(command, args);
    if (!other) return std::nullopt;
    refusal = MoreTelling(*refusal, *other);
  }
  return refusal;
}

bool AclRules::MayReadAnyKey(const Command& command, Args args) const {
  const auto allows = [&](const AclSelector& selector) {
    return selector.ReadsAllKeys() && !selector.Check(command, args);
  };
  return allows(root_) || std::ranges::any_of(selectors_, allows);
}

bool AclRules::AllowsChannel(std::string_view channel, bool is_pattern) const {
  return root_.AllowsChannel(channel, is_pattern) ||
         std::ranges::any_of(selectors_, [&](const AclSelector& selector) {
           return selector.AllowsChannel(channel, is_pattern);
         });
}

bool AclRules::AcceptsPassword(std::string_view password) const {
  if (nopass_) return true;
  const std::string hash = SecretHash(password);
  bool accepted = false;
  for (const std::string& known : passwords_) {
    if (EqualInConstantTime(hash, known)) accepted = true;
  }
  return accepted;
}

std::string AclRules::Describe() const {
  std::string text = on_ ? "on" : "off";
  if (nopass_) text += " nopass";
  for (const std::string& password : passwords_) text += " #" + password;
  text += " " + root_.Describe();
  for (const AclSelector& selector : selectors_) {
    text += fmt::format(" ({})", selector.Describe());
  }
  return text;
}

}  // namespace cairn::doors
