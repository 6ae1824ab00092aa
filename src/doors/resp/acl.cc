#include "doors/resp/acl.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "doors/resp/arg_parser.h"
#include "doors/resp/relay.h"

namespace cairn::doors {
namespace {

constexpr std::string_view kUserPrefix = "acl/user/";
constexpr int64_t kSameEventUs = 60'000'000;

// A rule that names a command which this version does not have gives and takes nothing: the others
// still hold.
AclRules RulesFromText(std::string_view text, const CommandTable& table, const Log& log) {
  AclRules rules;
  const std::vector<std::string_view> words = SplitWords(text);
  if (rules.Apply(words, table).ok()) return rules;
  for (size_t i = 0, count = 0; i < words.size(); i += count) {
    count = 1;
    if (words[i].starts_with('(')) {
      while (i + count < words.size() && !words[i + count - 1].ends_with(')')) ++count;
    }
    const Result<void> applied = rules.Apply(Args(words).subspan(i, count), table);
    if (!applied.ok()) log.Warn("a user's rule is left out", {{"reason", applied.error().message}});
  }
  return rules;
}

}  // namespace

Bytes EncodeAclUserKey(std::string_view name) {
  Bytes key(kUserPrefix);
  key += name;
  return key;
}

void AddAclScope(store::Scopes& scopes) { scopes.Add(store::Space::kSystem, "acl"); }

std::string NeedsASecret(std::string_view why) {
  return fmt::format(
      "{}, and nobody would need a password or a key: set another password or make "
      "another key first, or start the server with --insecure",
      why);
}

std::string RefusalText(const AclRefusal& refusal, const Command& command) {
  switch (refusal.reason) {
    case AclReason::kCommand:
      return fmt::format("NOPERM this user has no permissions to run the '{}' command",
                         command.name);
    case AclReason::kKey:
      return "NOPERM this user has no permissions to access one of the keys used as arguments";
    case AclReason::kChannel:
      return "NOPERM this user has no permissions to access one of the channels used as arguments";
  }
  return "NOPERM";
}

// --- AclUser ------------------------------------------------------------------------------------

std::shared_ptr<const AclRules> AclUser::rules() const {
  const std::lock_guard lock(mutex_);
  return rules_;
}

void AclUser::Set(AclRules rules) {
  auto shared = std::make_shared<const AclRules>(std::move(rules));
  const std::lock_guard lock(mutex_);
  rules_ = std::move(shared);
  unrestricted_ = rules_->AllowsEverything() && grants_ == nullptr;
}

void AclUser::Delete() {
  Set(AclRules());
  deleted_ = true;
}

// --- AclLog -------------------------------------------------------------------------------------

void AclLog::Add(Event event, std::string client, Timestamp now) {
  const std::lock_guard lock(mutex_);
  Entry entry{std::move(event), std::move(client), 1, now};
  const auto same = std::ranges::find_if(entries_, [&](const Entry& known) {
    return known.event == entry.event && now.us - known.time.us < kSameEventUs;
  });
  if (same != entries_.end()) {
    entry.count += same->count;
    entries_.erase(same);
  }
  entries_.push_front(std::move(entry));
  while (entries_.size() > max_length_) entries_.pop_back();
}

std::vector<AclLog::Entry> AclLog::Newest(size_t count) const {
  const std::lock_guard lock(mutex_);
  const auto end = entries_.begin() + static_cast<ptrdiff_t>(std::min(count, entries_.size()));
  return {entries_.begin(), end};
}

void AclLog::Clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

void AclLog::set_max_length(size_t length) {
  const std::lock_guard lock(mutex_);
  max_length_ = length;
  while (entries_.size() > length) entries_.pop_back();
}

// --- Acl ----------------------------------------------------------------------------------------

Acl::Acl(const CommandTable& table)
    : table_(table),
      default_user_(
          std::make_shared<AclUser>(std::string(kDefaultUser), AclRules::Everything(table))) {
  users_.emplace(kDefaultUser, default_user_);
}

void Acl::Changed() {
  const auto rules = default_user_->rules();
  auth_required_ = !rules->nopass() || !rules->on() || keys_required_ || why_secrets_;
}

bool Acl::OpensTooMuch(const AclRules& default_rules) const {
  return why_secrets_ && default_rules.nopass() && default_rules.on() && !keys_required_;
}

void Acl::RequireSecrets(std::string why) {
  const std::lock_guard lock(mutex_);
  why_secrets_ = std::move(why);
  Changed();
}

std::optional<std::string> Acl::why_secrets() const {
  const std::lock_guard lock(mutex_);
  return why_secrets_;
}

void Acl::SetKeysRequired(bool required) {
  const std::lock_guard lock(mutex_);
  keys_required_ = required;
  Changed();
}

Result<void> Acl::SetDefaultPassword(std::string_view password) {
  const std::lock_guard lock(mutex_);
  AclRules rules = *default_user_->rules();
  const std::string given = fmt::format(">{}", password);
  const std::string_view set[] = {"resetpass", given};
  const std::string_view none[] = {"nopass"};
  CAIRN_RETURN_IF_ERROR(rules.Apply(password.empty() ? Args(none) : Args(set), table_));
  if (OpensTooMuch(rules)) return Error{ErrorCode::kConflict, NeedsASecret(*why_secrets_)};
  default_user_->Set(std::move(rules));
  Changed();
  return {};
}

std::shared_ptr<AclUser> Acl::Find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = users_.find(name);
  return found == users_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<AclUser>> Acl::users() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<AclUser>> users;
  for (const auto& [name, user] : users_) users.push_back(user);
  return users;
}

std::shared_ptr<AclUser> Acl::FindByPassword(std::string_view name,
                                             std::string_view password) const {
  std::shared_ptr<AclUser> user = Find(name);
  if (user == nullptr) return nullptr;
  const auto rules = user->rules();
  if (!rules->on() || !rules->AcceptsPassword(password)) return nullptr;
  const bool needs_another = rules->nopass() && user == default_user_ && auth_required_;
  return needs_another ? nullptr : user;
}

std::shared_ptr<AclUser> Acl::Authenticate(std::string_view name, std::string_view password) const {
  if (std::shared_ptr<AclUser> user = FindByPassword(name, password)) return user;
  return key_lookup_ ? key_lookup_(name, password) : nullptr;
}

Result<void> Acl::SetUser(std::string_view name, Args rules) {
  const std::lock_guard lock(mutex_);
  const auto found = users_.find(name);
  AclRules changed = found == users_.end() ? AclRules() : *found->second->rules();
  CAIRN_RETURN_IF_ERROR(changed.Apply(rules, table_));
  if (name == kDefaultUser && OpensTooMuch(changed)) {
    return Error{ErrorCode::kConflict, "ERR " + NeedsASecret(*why_secrets_)};
  }
  if (found != users_.end()) {
    found->second->Set(std::move(changed));
  } else {
    std::string owned(name);
    auto user = std::make_shared<AclUser>(owned, std::move(changed));
    users_.emplace(std::move(owned), std::move(user));
  }
  Changed();
  return {};
}

bool Acl::DeleteUser(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto found = users_.find(name);
  if (found == users_.end() || found->second == default_user_) return false;
  found->second->Delete();
  users_.erase(found);
  return true;
}

Result<Acl::Texts> Acl::ReadTexts(store::Reader& reader) {
  Texts texts;
  const auto range = store::Range::Prefix(store::Space::kSystem, kUserPrefix);
  CAIRN_RETURN_IF_ERROR(reader.Scan(range, {}, [&](BytesView key, BytesView value) {
    texts.emplace(key.substr(kUserPrefix.size()), value);
    return true;
  }));
  return texts;
}

void Acl::SetFromText(const std::string& name, const std::string& text, const Log& log) {
  AclRules rules = RulesFromText(text, table_, log);
  const auto found = users_.find(name);
  if (found != users_.end()) {
    found->second->Set(std::move(rules));
  } else {
    users_.emplace(name, std::make_shared<AclUser>(name, std::move(rules)));
  }
}

Result<void> Acl::Load(store::Reader& reader, std::string_view password, const Log& log) {
  CAIRN_ASSIGN_OR_RETURN(Texts texts, ReadTexts(reader));
  const size_t count = texts.size();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, text] : texts) SetFromText(name, text, log);
    stored_ = std::move(texts);
  }
  if (!password.empty()) CAIRN_RETURN_IF_ERROR(SetDefaultPassword(password));
  Changed();
  if (count > 0) log.Info("users loaded", {{"count", count}});
  return {};
}

Result<bool> Acl::LoadChanges(store::Reader& reader, const Log& log) {
  CAIRN_ASSIGN_OR_RETURN(const Texts texts, ReadTexts(reader));
  const std::lock_guard lock(mutex_);
  bool changed = false;
  for (const auto& [name, text] : texts) {
    const auto known = stored_.find(name);
    if (known != stored_.end() && known->second == text) continue;
    SetFromText(name, text, log);
    changed = true;
  }
  for (const auto& [name, text] : stored_) {
    const auto found = users_.find(name);
    if (texts.contains(name) || found == users_.end() || found->second == default_user_) continue;
    found->second->Delete();
    users_.erase(found);
    changed = true;
  }
  stored_ = texts;
  Changed();
  return changed;
}

void Acl::Stored(const std::string& name, const std::optional<std::string>& text) {
  const std::lock_guard lock(mutex_);
  if (text) {
    stored_.insert_or_assign(name, *text);
  } else {
    stored_.erase(name);
  }
}

Result<void> Acl::CheckUnchanged(store::Transaction& transaction, std::string_view name) const {
  CAIRN_ASSIGN_OR_RETURN(const auto text,
                         transaction.Get({store::Space::kSystem, EncodeAclUserKey(name)}));
  const std::lock_guard lock(mutex_);
  const auto known = stored_.find(name);
  if (known == stored_.end() ? !text : text == known->second) return {};
  return Error{ErrorCode::kConflict,
               fmt::format("user '{}' was changed on another server at the same time", name)};
}

void Acl::Save(store::Transaction& transaction, std::string_view name) {
  const Bytes key = EncodeAclUserKey(name);
  std::optional<std::string> text;
  if (const std::shared_ptr<AclUser> user = Find(name)) text = user->rules()->Describe();
  if (text) {
    transaction.Put({store::Space::kSystem, key}, *text);
  } else {
    transaction.Delete({store::Space::kSystem, key});
  }
  transaction.Wake(UsersTopic());
  transaction.AfterCommit(
      [this, name = std::string(name), text](store::Commit) { Stored(name, text); });
}

}  // namespace cairn::doors
