#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "admin/limits.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "doors/access/principal.h"
#include "doors/resp/instance.h"
#include "house/permissions.h"
#include "store/store.h"

// The keys that let programs and people in. Rows of the space `system`, HASH being the SHA-256 of
// the key in hexadecimal; the key itself is nowhere:
//
//   auth/key/HASH   →  JSON: name, role, queue_scope, enabled, created_us, expires_us
//   auth/used/HASH  →  time:8, when it was last used, give or take kUsedEveryUs
//
// All changes share one scope, and wake one topic: every server of the store reads the rows again.
namespace cairn::admin {

// What a key's queue_scope grants (doors/access/grants.h).
inline constexpr std::string_view kQueueKind = "queue";
// How much later a use must be to be written down.
inline constexpr int64_t kUsedEveryUs = 60'000'000;

struct ApiKey {
  std::string hash;
  std::string name;  // as the audit log, AUTH and CLIENT LIST have it
  house::Role role = house::Role::kReadonly;
  std::string queue_scope = {};  // doors::NamePatterns; empty: all queues
  bool enabled = true;
  Timestamp created = {};
  std::optional<Timestamp> expires = {};

  bool ExpiredAt(Timestamp now) const { return expires && *expires <= now; }
  friend bool operator==(const ApiKey&, const ApiKey&) = default;
};

// As it is stored; kCorruption for what is no key.
std::string EncodeApiKey(const ApiKey& key);
Result<ApiKey> DecodeApiKey(std::string_view hash, BytesView row);

// The scope of all changes of keys.
void AddKeysScope(store::Scopes& scopes);
// All keys, by hash.
Result<std::vector<ApiKey>> LoadKeys(store::Reader& reader);
// Whether a server of this store that was given no password would let nobody in without a secret.
Result<bool> NeedsSecret(store::Reader& reader);
void PutKey(store::Transaction& transaction, const ApiKey& key);
void DeleteKey(store::Transaction& transaction, std::string_view hash);
// When the key was last used; nullopt: never, as far as was written down.
Result<std::optional<Timestamp>> LoadLastUse(store::Reader& reader, std::string_view hash);

// All keys of the store as one server goes by them. What is asked for with each request is answered
// from memory; a thread of its own reads changed keys, ends what was begun with a key that has
// expired, and writes down which were used.
//
// Safe to use from any thread, between Start and Stop.
class Keyring {
 public:
  // Both outlive it. From Start on the users of `instance` authenticate by keys, too.
  Keyring(doors::Instance& instance, const house::Permissions& permissions);
  ~Keyring();  // stops
  Keyring(const Keyring&) = delete;
  Keyring& operator=(const Keyring&) = delete;

  // Reads the keys. The command table is complete.
  Result<void> Start();
  void Stop();

  // Whether there is a key that is enabled. One that has expired counts: nobody is let in without a
  // key because the last one ran out.
  bool any_enabled() const;
  // Whom a request with this secret is from: the key's, if it is enabled and has not expired; the
  // one with the password, or anybody where neither password nor key is needed. Null: nobody.
  std::shared_ptr<const doors::Principal> Identify(std::string_view secret);
  // When it was last used as far as this server knows.
  std::optional<Timestamp> LastUse(std::string_view hash) const;

  // Goes by what is stored now. The thread does so by itself, a little later.
  Result<void> Reload();
  // Ends the principals of keys that have expired; likewise.
  void EndExpired();
  // Writes down which keys were used; likewise.
  Result<void> WriteUses();

 private:
  struct Entry {
    ApiKey key;
    std::shared_ptr<doors::Principal> principal;
    std::shared_ptr<doors::AclUser> user;  // what the principal is at the RESP door
    std::atomic<int64_t> used_us{0};       // 0: never
    std::atomic<int64_t> written_us{0};    // as it is stored

    // What goes on for it stops.
    void End() {
      principal->End();
      user->Delete();
    }
  };
  using Entries = std::map<std::string, std::shared_ptr<Entry>, std::less<>>;

  void ThreadMain();
  std::shared_ptr<const Entries> entries() const;
  Result<std::shared_ptr<Entry>> MakeEntry(store::Reader& reader, const ApiKey& key) const;
  // The key of this secret, if it lets in now.
  std::shared_ptr<Entry> FindValid(std::string_view secret) const;
  void NoteUse(Entry& entry);
  // Closes the sessions of users that have been deleted.
  void CloseEnded();
  // Until when the thread may sleep.
  std::chrono::milliseconds Patience() const;

  doors::Instance& instance_;
  const house::Permissions& permissions_;
  store::Store& store_;
  const Clock& clock_;
  const std::shared_ptr<const doors::Principal> default_;

  std::mutex reload_mutex_;  // held while rows are read: what is read later is kept
  mutable std::mutex entries_mutex_;
  std::shared_ptr<const Entries> entries_;

  std::mutex mutex_;
  std::condition_variable woken_;
  bool stopping_ = false;
  bool keys_changed_ = false;
  bool used_ = false;
  store::Subscription subscription_;
  std::thread thread_;
};

}  // namespace cairn::admin
