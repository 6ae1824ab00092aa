#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "doors/access/grants.h"
#include "doors/resp/acl_rules.h"
#include "doors/resp/command_table.h"
#include "store/transaction.h"

// Who may do what. One row of the space `system` per user that was ever changed:
//
//   acl/user/NAME  →  the user's rules as text: on #9f86… ~cache:* resetchannels -@all +get
//
// The rows are read at the start; while the server runs the copy in memory is what counts, and each
// change writes its row before it is acknowledged. The password that the configuration gives to the
// user "default" is not stored and goes before the stored ones.
namespace cairn::doors {

inline constexpr std::string_view kDefaultUser = "default";

Bytes EncodeAclUserKey(std::string_view name);
// The scope of all changes of users.
void AddAclScope(store::Scopes& scopes);

// One user, shared by its sessions. Safe to use from any thread.
class AclUser {
 public:
  AclUser(std::string name, AclRules rules) : AclUser(std::move(name), std::move(rules), "acl") {}
  // One that a key stands for. `grants`: null for everything.
  AclUser(std::string name, AclRules rules, std::string role,
          std::shared_ptr<const Grants> grants = nullptr)
      : name_(std::move(name)),
        role_(std::move(role)),
        is_default_(name_ == kDefaultUser),
        grants_(std::move(grants)) {
    Set(std::move(rules));
  }

  const std::string& name() const { return name_; }
  const std::string& role() const { return role_; }
  bool is_default() const { return is_default_; }
  // Whether nothing needs to be checked, which is asked for every request.
  bool unrestricted() const { return unrestricted_.load(std::memory_order_relaxed); }
  bool deleted() const { return deleted_.load(std::memory_order_relaxed); }
  std::shared_ptr<const AclRules> rules() const;
  // Null: everything.
  const Grants* grants() const { return grants_.get(); }

  // It may do nothing from now on; Dispatcher::EnforceAcl closes its connections.
  void Delete();

 private:
  friend class Acl;
  void Set(AclRules rules);

  const std::string name_;
  const std::string role_;
  const bool is_default_;
  const std::shared_ptr<const Grants> grants_;
  std::atomic<bool> unrestricted_{false};
  std::atomic<bool> deleted_{false};
  mutable std::mutex mutex_;
  std::shared_ptr<const AclRules> rules_;
};

// What was refused lately, newest first: ACL LOG. Safe to use from any thread.
class AclLog {
 public:
  struct Event {
    std::string_view reason;   // "command" "key" "channel" "auth"
    std::string_view context;  // "toplevel" "multi"
    std::string object;
    std::string user;

    friend bool operator==(const Event&, const Event&) = default;
  };
  struct Entry {
    Event event;
    std::string client;  // the last one, described
    uint64_t count = 1;
    Timestamp time;  // of the last one
  };

  // The same again within a minute is counted, not listed again.
  void Add(Event event, std::string client, Timestamp now);
  std::vector<Entry> Newest(size_t count) const;
  void Clear();

  size_t max_length() const { return max_length_.load(std::memory_order_relaxed); }
  void set_max_length(size_t length);

 private:
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  std::atomic<size_t> max_length_{128};
};

// All users. Safe to use from any thread.
class Acl {
 public:
  // `table` must be complete before users other than "default" are made.
  explicit Acl(const CommandTable& table);

  // The user "default" takes this password, besides those stored; empty: none is needed. Fails if
  // one is (RequireSecrets).
  Result<void> SetDefaultPassword(std::string_view password);
  // From now on nobody is ever let in without a secret, because `why`: changes after which nobody
  // would need one are refused, and those that other processes make let nobody in.
  void RequireSecrets(std::string why);
  // Why, or nullopt if they are not required so.
  std::optional<std::string> why_secrets() const;
  // Other secrets that let somebody in, by AUTH secret or AUTH name secret: the user it stands for,
  // null if it is none. Set before there are connections.
  using KeyLookup =
      std::function<std::shared_ptr<AclUser>(std::string_view name, std::string_view secret)>;
  void set_key_lookup(KeyLookup lookup) { key_lookup_ = std::move(lookup); }
  // While there are such secrets, nobody is let in without one: that "default" needs no password
  // does not count.
  void SetKeysRequired(bool required);
  // Whether a connection that has not authenticated may do nothing.
  bool auth_required() const { return auth_required_.load(std::memory_order_relaxed); }

  const std::shared_ptr<AclUser>& default_user() const { return default_user_; }
  std::shared_ptr<AclUser> Find(std::string_view name) const;  // null: no such user
  std::vector<std::shared_ptr<AclUser>> users() const;         // by name
  // The user, if there is one that is on and takes the password.
  std::shared_ptr<AclUser> FindByPassword(std::string_view name, std::string_view password) const;
  // The same, or the one that a key stands for.
  std::shared_ptr<AclUser> Authenticate(std::string_view name, std::string_view password) const;

  // Makes the user if there is none. The message of an error is the reply.
  Result<void> SetUser(std::string_view name, Args rules);
  // Whether there was one.
  bool DeleteUser(std::string_view name);

  // Reads all users. `password`: see SetDefaultPassword.
  Result<void> Load(store::Reader& reader, std::string_view password, const Log& log);
  // Takes over what another process has changed since; whether it has.
  Result<bool> LoadChanges(store::Reader& reader, const Log& log);
  // Writes the user as it is now, or that it is gone.
  void Save(store::Transaction& transaction, std::string_view name);
  // kConflict if another process has changed the user and LoadChanges has not been called since:
  // what is in memory has lost, and must not be saved.
  Result<void> CheckUnchanged(store::Transaction& transaction, std::string_view name) const;

  AclLog& log() { return log_; }

 private:
  using Texts = std::map<std::string, std::string, std::less<>>;

  static Result<Texts> ReadTexts(store::Reader& reader);
  void SetFromText(const std::string& name, const std::string& text, const Log& log);
  void Stored(const std::string& name, const std::optional<std::string>& text);
  void Changed();
  // Whether "default" with these rules would let everybody in, who must not be.
  bool OpensTooMuch(const AclRules& default_rules) const;

  const CommandTable& table_;
  mutable std::mutex mutex_;
  Texts stored_;  // each user's rules as last read or written here
  std::map<std::string, std::shared_ptr<AclUser>, std::less<>> users_;
  const std::shared_ptr<AclUser> default_user_;
  KeyLookup key_lookup_;
  std::optional<std::string> why_secrets_;  // under mutex_
  std::atomic<bool> keys_required_{false};
  std::atomic<bool> auth_required_{false};
  AclLog log_;
};

// What a change is refused with that would let everybody in, although `why`.
std::string NeedsASecret(std::string_view why);

// "NOPERM …" as Redis words it.
std::string RefusalText(const AclRefusal& refusal, const Command& command);

}  // namespace cairn::doors
