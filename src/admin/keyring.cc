#include "admin/keyring.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <utility>

#include "doors/resp/acl.h"
#include "doors/resp/acl_checks.h"
#include "doors/resp/command_table.h"
#include "doors/resp/dispatcher.h"

namespace cairn::admin {
namespace {

namespace json = boost::json;
using house::Role;
using house::RoleName;
using store::Space;

constexpr std::string_view kKeyPrefix = "auth/key/";
constexpr std::string_view kUsedPrefix = "auth/used/";
// While a key is about to expire: the clock may be set meanwhile.
constexpr std::chrono::seconds kLookAgain{30};

Bytes KeyOf(std::string_view prefix, std::string_view hash) {
  Bytes key(prefix);
  key += hash;
  return key;
}

store::Topic KeysTopic() { return store::Topic::Of(Space::kSystem, kKeyPrefix); }

std::shared_ptr<const doors::Principal> DefaultPrincipal(const house::Permissions& permissions) {
  return std::make_shared<const doors::Principal>(std::string(doors::kDefaultUser),
                                                  std::string(RoleName(Role::kAdmin)),
                                                  permissions.Of(Role::kAdmin), nullptr);
}

// Null: everything.
Result<std::shared_ptr<const doors::Grants>> GrantsOf(const ApiKey& key) {
  if (key.queue_scope.empty()) return std::shared_ptr<const doors::Grants>();
  CAIRN_ASSIGN_OR_RETURN(doors::NamePatterns queues, doors::NamePatterns::Parse(key.queue_scope));
  auto grants = std::make_shared<doors::Grants>();
  grants->Add(std::string(kQueueKind), std::move(queues));
  return std::shared_ptr<const doors::Grants>(std::move(grants));
}

}  // namespace

// --- Rows ---------------------------------------------------------------------------------------

std::string EncodeApiKey(const ApiKey& key) {
  json::object object{{"name", key.name},
                      {"role", RoleName(key.role)},
                      {"queue_scope", key.queue_scope},
                      {"enabled", key.enabled},
                      {"created_us", key.created.us}};
  if (key.expires) object["expires_us"] = key.expires->us;
  return json::serialize(object);
}

Result<ApiKey> DecodeApiKey(std::string_view hash, BytesView row) {
  const Error corrupt{ErrorCode::kCorruption,
                      fmt::format("the row of key {} cannot be decoded", hash)};
  boost::system::error_code failure;
  const json::value value = json::parse(json::string_view(row.data(), row.size()), failure);
  if (failure || !value.is_object()) return corrupt;
  const json::object& object = value.as_object();
  const auto member = [&](std::string_view name, json::kind kind) -> const json::value* {
    const json::value* found = object.if_contains(name);
    return found != nullptr && found->kind() == kind ? found : nullptr;
  };
  const json::value* const name = member("name", json::kind::string);
  const json::value* const role = member("role", json::kind::string);
  const json::value* const scope = member("queue_scope", json::kind::string);
  const json::value* const enabled = member("enabled", json::kind::bool_);
  const json::value* const created = member("created_us", json::kind::int64);
  if (!name || !role || !scope || !enabled || !created) return corrupt;
  const std::optional<Role> known = house::ParseRole(std::string_view(role->as_string()));
  if (!known) return corrupt;
  ApiKey key{.hash = std::string(hash),
             .name = std::string(name->as_string()),
             .role = *known,
             .queue_scope = std::string(scope->as_string()),
             .enabled = enabled->as_bool(),
             .created = {created->as_int64()}};
  if (const json::value* const expires = member("expires_us", json::kind::int64)) {
    key.expires = Timestamp{expires->as_int64()};
  }
  return key;
}

void AddKeysScope(store::Scopes& scopes) { scopes.Add(Space::kSystem, kKeyPrefix); }

Result<std::vector<ApiKey>> LoadKeys(store::Reader& reader) {
  std::vector<ApiKey> keys;
  std::optional<Error> failure;
  CAIRN_RETURN_IF_ERROR(reader.Scan(
      store::Range::Prefix(Space::kSystem, kKeyPrefix), {}, [&](BytesView key, BytesView row) {
        Result<ApiKey> decoded = DecodeApiKey(key.substr(kKeyPrefix.size()), row);
        if (!decoded.ok()) {
          failure = decoded.error();
          return false;
        }
        keys.push_back(*std::move(decoded));
        return true;
      }));
  if (failure) return *failure;
  return keys;
}

Result<bool> NeedsSecret(store::Reader& reader) {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<ApiKey> keys, LoadKeys(reader));
  const doors::CommandTable no_commands;  // what its users may call does not matter
  doors::Acl acl(no_commands);
  CAIRN_RETURN_IF_ERROR(acl.Load(reader, "", Log::Silent()));
  acl.SetKeysRequired(std::ranges::any_of(keys, &ApiKey::enabled));
  return acl.auth_required();
}

void PutKey(store::Transaction& transaction, const ApiKey& key) {
  const Bytes row = KeyOf(kKeyPrefix, key.hash);
  transaction.Put({Space::kSystem, row}, EncodeApiKey(key));
  transaction.Wake(KeysTopic());
}

void DeleteKey(store::Transaction& transaction, std::string_view hash) {
  for (const std::string_view prefix : {kKeyPrefix, kUsedPrefix}) {
    const Bytes row = KeyOf(prefix, hash);
    transaction.Delete({Space::kSystem, row});
  }
  transaction.Wake(KeysTopic());
}

Result<std::optional<Timestamp>> LoadLastUse(store::Reader& reader, std::string_view hash) {
  const Bytes key = KeyOf(kUsedPrefix, hash);
  CAIRN_ASSIGN_OR_RETURN(const auto row, reader.Get({Space::kSystem, key}));
  if (!row) return std::optional<Timestamp>();
  BytesReader bytes(*row);
  return std::optional(Timestamp{static_cast<int64_t>(bytes.Big64())});
}

// --- Keyring ------------------------------------------------------------------------------------

Keyring::Keyring(doors::Instance& instance, const house::Permissions& permissions)
    : instance_(instance),
      permissions_(permissions),
      store_(instance.store()),
      clock_(instance.clock()),
      default_(DefaultPrincipal(permissions)),
      entries_(std::make_shared<const Entries>()) {
  instance.acl().set_key_lookup(
      [this](std::string_view name, std::string_view secret) -> std::shared_ptr<doors::AclUser> {
        const std::shared_ptr<Entry> entry = FindValid(secret);
        if (entry == nullptr || (name != doors::kDefaultUser && name != entry->key.name)) {
          return nullptr;
        }
        NoteUse(*entry);
        return entry->user;
      });
}

Keyring::~Keyring() { Stop(); }

Result<void> Keyring::Start() {
  // Before the rows are read, so that no change falls between.
  subscription_ = store_.OnWake(KeysTopic(), [this] {
    {
      const std::lock_guard lock(mutex_);
      keys_changed_ = true;
    }
    woken_.notify_all();
  });
  CAIRN_RETURN_IF_ERROR(Reload());
  thread_ = std::thread([this] { ThreadMain(); });
  return {};
}

void Keyring::Stop() {
  subscription_ = {};
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<const Keyring::Entries> Keyring::entries() const {
  const std::lock_guard lock(entries_mutex_);
  return entries_;
}

bool Keyring::any_enabled() const {
  return std::ranges::any_of(*entries(), [](const auto& row) { return row.second->key.enabled; });
}

std::shared_ptr<Keyring::Entry> Keyring::FindValid(std::string_view secret) const {
  const std::shared_ptr<const Entries> all = entries();
  if (all->empty() || secret.empty()) return nullptr;
  const auto found = all->find(doors::SecretHash(secret));
  if (found == all->end()) return nullptr;
  const ApiKey& key = found->second->key;
  return key.enabled && !key.ExpiredAt(clock_.Now()) ? found->second : nullptr;
}

std::shared_ptr<const doors::Principal> Keyring::Identify(std::string_view secret) {
  if (!instance_.acl().auth_required()) return default_;
  if (const std::shared_ptr<Entry> entry = FindValid(secret)) {
    NoteUse(*entry);
    return entry->principal;
  }
  return instance_.acl().FindByPassword(doors::kDefaultUser, secret) != nullptr ? default_
                                                                                : nullptr;
}

void Keyring::NoteUse(Entry& entry) {
  const int64_t now = clock_.Now().us;
  entry.used_us.store(now, std::memory_order_relaxed);
  if (now - entry.written_us.load(std::memory_order_relaxed) < kUsedEveryUs) return;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(used_, true)) return;
  }
  woken_.notify_all();
}

std::optional<Timestamp> Keyring::LastUse(std::string_view hash) const {
  const std::shared_ptr<const Entries> all = entries();
  const auto found = all->find(hash);
  const int64_t us = found == all->end() ? 0 : found->second->used_us.load();
  if (us == 0) return std::nullopt;
  return Timestamp{us};
}

Result<std::shared_ptr<Keyring::Entry>> Keyring::MakeEntry(store::Reader& reader,
                                                           const ApiKey& key) const {
  CAIRN_ASSIGN_OR_RETURN(const std::shared_ptr<const doors::Grants> grants, GrantsOf(key));
  const std::string role(RoleName(key.role));
  auto entry = std::make_shared<Entry>();
  entry->key = key;
  entry->principal =
      std::make_shared<doors::Principal>(key.name, role, permissions_.Of(key.role), grants);
  entry->user = std::make_shared<doors::AclUser>(
      key.name, permissions_.RulesOf(key.role, grants.get(), instance_.commands()), role, grants);
  CAIRN_ASSIGN_OR_RETURN(const auto used, LoadLastUse(reader, key.hash));
  entry->used_us = entry->written_us = used ? used->us : 0;
  return entry;
}

Result<void> Keyring::Reload() {
  const std::lock_guard lock(reload_mutex_);
  CAIRN_ASSIGN_OR_RETURN(const auto snapshot, store_.Read());
  CAIRN_ASSIGN_OR_RETURN(const std::vector<ApiKey> keys, LoadKeys(*snapshot));
  const std::shared_ptr<const Entries> before = entries();
  auto after = std::make_shared<Entries>();
  for (const ApiKey& key : keys) {
    const auto known = before->find(key.hash);
    if (known != before->end() && known->second->key == key) {
      after->insert(*known);
    } else {
      CAIRN_ASSIGN_OR_RETURN((*after)[key.hash], MakeEntry(*snapshot, key));
    }
  }
  {
    const std::lock_guard guard(entries_mutex_);
    entries_ = after;
  }
  instance_.acl().SetKeysRequired(any_enabled());
  for (const auto& [hash, entry] : *before) {
    const auto still = after->find(hash);
    if (still == after->end() || still->second != entry) entry->End();
  }
  CloseEnded();
  return {};
}

void Keyring::EndExpired() {
  const Timestamp now = clock_.Now();
  bool any = false;
  for (const auto& [hash, entry] : *entries()) {
    if (!entry->key.ExpiredAt(now) || entry->principal->ended()) continue;
    entry->End();
    any = true;
  }
  if (any) CloseEnded();
}

void Keyring::CloseEnded() {
  instance_.dispatchers().PostToAll(
      [](doors::Dispatcher& each) { doors::EnforceAcl(each, /*caller=*/0); });
}

Result<void> Keyring::WriteUses() {
  const std::shared_ptr<const Entries> all = entries();
  std::vector<std::pair<Entry*, int64_t>> due;
  for (const auto& [hash, entry] : *all) {
    const int64_t used = entry->used_us;
    if (used - entry->written_us >= kUsedEveryUs) due.emplace_back(entry.get(), used);
  }
  if (due.empty()) return {};
  store::Scopes scopes;
  AddKeysScope(scopes);
  const Result<store::Commit> done =
      store_.Run(scopes, [&](store::Transaction& transaction) -> Result<void> {
        for (const auto& [entry, used] : due) {
          // A key that was deleted meanwhile leaves nothing behind.
          const Bytes key = KeyOf(kKeyPrefix, entry->key.hash);
          CAIRN_ASSIGN_OR_RETURN(const auto row, transaction.Get({Space::kSystem, key}));
          if (!row) continue;
          Bytes time;
          AppendBig64(time, static_cast<uint64_t>(used));
          const Bytes used_key = KeyOf(kUsedPrefix, entry->key.hash);
          transaction.Put({Space::kSystem, used_key}, time);
        }
        return {};
      });
  // Also where that has failed: not every request of a store in trouble tries again.
  for (const auto& [entry, used] : due) entry->written_us = used;
  if (!done.ok()) return done.error();
  return {};
}

std::chrono::milliseconds Keyring::Patience() const {
  std::optional<Timestamp> first;
  for (const auto& [hash, entry] : *entries()) {
    if (!entry->key.expires || entry->principal->ended()) continue;
    if (!first || *entry->key.expires < *first) first = entry->key.expires;
  }
  if (!first) return std::chrono::milliseconds::max();
  const std::chrono::milliseconds left(first->millis() - clock_.Now().millis() + 1);
  return std::clamp<std::chrono::milliseconds>(left, std::chrono::milliseconds(1), kLookAgain);
}

void Keyring::ThreadMain() {
  bool failing = false;
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto called = [this] { return stopping_ || keys_changed_ || used_; };
    lock.unlock();
    const std::chrono::milliseconds patience = failing ? kLookAgain : Patience();
    lock.lock();
    if (patience == std::chrono::milliseconds::max()) {
      woken_.wait(lock, called);
    } else {
      woken_.wait_for(lock, patience, called);
    }
    if (stopping_) return;
    const bool changed = std::exchange(keys_changed_, false) || failing;
    const bool used = std::exchange(used_, false);
    lock.unlock();
    const Result<void> reloaded = changed ? Reload() : Result<void>();
    EndExpired();
    const Result<void> written = used ? WriteUses() : Result<void>();
    if (!reloaded.ok()) {
      instance_.log().Warn("changed keys cannot be read; trying again",
                           {{"reason", reloaded.error().message}});
    }
    failing = !reloaded.ok();
    (void)written;  // a use a minute later tries again
    lock.lock();
  }
}

}  // namespace cairn::admin
