#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "store/scopes.h"
#include "store/transaction.h"

namespace cairn::doors {

// Keyspace events that last: whoever has to hear of each change of certain keys, also after a
// crash, reads them from a log. The commit that changes such a key writes its row:
//
//   events  'kev' number:8   at_ms:8 db:1 size:1 event key…     the event has `size` bytes
//           'kec'            removed:8                          rows up to this number are gone
//
// What is written is said by rules, which somebody above this folder keeps. Without rules a change
// costs one look at a flag. Safe to use from any thread.
class KeyLog {
 public:
  struct Rule {
    uint8_t db = 0;
    std::vector<std::string> keys;    // patterns (glob.h)
    std::vector<std::string> events;  // Redis's names: "set", "expired"; empty: all
    friend bool operator==(const Rule&, const Rule&) = default;
  };

  KeyLog() = default;
  KeyLog(const KeyLog&) = delete;
  KeyLog& operator=(const KeyLog&) = delete;

  // Rules that were read after `changes` was; if they have changed since, they are not used.
  void SetRules(std::vector<Rule> rules, uint64_t changes);
  // The rules have changed: until they are set again, everything is recorded.
  void NoteChange();
  uint64_t changes() const { return changes_.load(std::memory_order_acquire); }

  void Note(store::Transaction& transaction, uint8_t db, std::string_view event,
            std::string_view key) const {
    if (mode_.load(std::memory_order_acquire) != Mode::kNothing) [[unlikely]] {
      NoteIfWanted(transaction, db, event, key);
    }
  }

 private:
  enum class Mode : uint8_t { kNothing, kRules, kEverything };

  void NoteIfWanted(store::Transaction& transaction, uint8_t db, std::string_view event,
                    std::string_view key) const;

  std::atomic<Mode> mode_{Mode::kNothing};
  std::atomic<uint64_t> changes_{0};
  mutable std::mutex mutex_;
  std::shared_ptr<const std::vector<Rule>> rules_;
};

// Whether an event is one that the rule asks for.
bool Matches(const KeyLog::Rule& rule, uint8_t db, std::string_view event, std::string_view key);

struct KeyEvent {
  uint64_t number = 0;
  int64_t at_ms = 0;
  uint8_t db = 0;
  std::string event;
  std::string key;
  friend bool operator==(const KeyEvent&, const KeyEvent&) = default;
};
Bytes EncodeKeyEvent(const KeyEvent& event);
// nullopt for bytes that are none.
std::optional<KeyEvent> DecodeKeyEvent(BytesView key, BytesView value);

// Events after `number`, oldest first, `limit` at most.
Result<std::vector<KeyEvent>> ReadKeyEvents(store::Reader& reader, uint64_t number, size_t limit);
// 0 if the log is empty.
Result<uint64_t> NewestKeyEvent(store::Reader& reader);
// Events up to this number have been removed: who has seen an older one last may have missed some.
Result<uint64_t> RemovedKeyEvents(store::Reader& reader);

struct KeyLogTrim {
  uint64_t read_to = 0;   // everybody has read so far
  int64_t oldest_ms = 0;  // what is older goes, read or not
  size_t rows = 1'000;    // at most
};
// Whether there is more to remove. Scope: AddKeyLogScope.
Result<bool> TrimKeyEvents(store::Transaction& transaction, const KeyLogTrim& trim);
void AddKeyLogScope(store::Scopes& scopes);

// Woken by each event that is written.
store::Topic KeyEventsTopic();

}  // namespace cairn::doors
