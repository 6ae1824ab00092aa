#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "functions/control/context.h"
#include "functions/control/functions.h"
#include "functions/model/bundle.h"
#include "functions/model/config.h"
#include "functions/model/records.h"
#include "store/scopes.h"

// Drafts, and what becomes of them: versions, which never change.
//
//   upload ─→ draft ─ publish ─→ version 1, 2, 3, …
//               └─ 24 hours ─→ expired
namespace cairn::functions {

// The scopes of UploadDraft, and of a publish with a draft; without one, `draft` is empty. An alias
// that is moved along has scopes of its own (aliases.h).
void AddDraftScopes(const FunctionName& function, std::string_view draft, store::Scopes& scopes);

// What is uploaded, checked and packed before a transaction begins: CS_VALIDATION_… as bundle.h and
// manifest.h say.
struct Package {
  Files files;
  std::string entry;
  Bytes tar;
  std::string sha256;
};
Result<Package> MakePackage(Files files);

struct UploadedDraft {
  std::string draft_id;
  std::string sha256;
  size_t size_bytes = 0;  // of the tar
  int64_t expires_at_ms = 0;
};
// `draft_id` is new (NewDraftId). CS_TOO_LARGE if the function has kMaxDrafts.
Result<UploadedDraft> UploadDraft(Context& context, const FunctionName& function,
                                  const std::string& draft_id, const Package& package);

// What a package was compiled to (bundle_compiler.h).
struct CompiledCode {
  std::string sha256;  // of the package
  Bytes code;          // empty, or above kMaxCodeBytes: it is not kept
};
using SharedCode = std::shared_ptr<const CompiledCode>;

struct PublishRequest {
  std::string draft_id;            // of a draft; or empty
  std::optional<Package> package;  // then this is published
  // Stored along. Null: the first server that runs the version compiles it.
  SharedCode compiled = nullptr;
  ConfigOverrides config;
  std::string alias;  // moved to the new version; empty: none
};
struct Published {
  uint64_t version = 0;
  std::string sha256;
  int64_t published_at_ms = 0;
};
// The files that a request would publish, for who compiles them first. Refuses what Publish would
// refuse for the function, the draft or the alias's name.
Result<Package> PackageToPublish(const Context& context, const FunctionName& function,
                                 const PublishRequest& request);
// All of it or nothing: the next number, version, bundle, environment, alias; the draft is used up.
// A draft that is used up is CS_CONFLICT and one that has expired CS_GONE; code of other files than
// those that are published is CS_CONFLICT. A topic for failures that the caller may not use is
// CS_AUTHZ_RESOURCE_MISMATCH.
Result<Published> Publish(Context& context, const FunctionName& function,
                          const PublishRequest& request);

// Keeps the code of a version that was published without it. Does nothing if there is no version of
// these files (any more).
Result<void> StoreCode(Context& context, const FunctionName& function, uint64_t version,
                       const CompiledCode& compiled);
// What was stored for a bundle with this digest; nullopt if nothing was. Whoever may write the key
// decides what it says: give it to nobody but a process that runs this function.
Result<std::optional<Bytes>> LoadCode(store::Transaction& transaction, const FunctionName& function,
                                      std::string_view sha256);

// 0: none.
Result<uint64_t> NewestVersion(store::Transaction& transaction, const FunctionName& function);
// CS_NOT_FOUND if there is no such version.
Result<VersionMeta> LoadVersionMeta(store::Transaction& transaction, const FunctionName& function,
                                    uint64_t version);

// For callers.
Result<VersionMeta> GetVersion(const Context& context, const FunctionName& function,
                               uint64_t version);
struct VersionPage {
  std::vector<VersionMeta> versions;  // the newest first
  uint64_t cursor = 0;                // the next page's `before`; 0: there is none
};
Result<VersionPage> ListVersions(const Context& context, const FunctionName& function,
                                 uint64_t before, size_t limit);

// What runs a version needs of it. A bundle that is not what was published is
// CS_KVROCKS_READ_FAILED.
struct LoadedVersion {
  VersionMeta meta;
  Bytes bundle;
};
Result<LoadedVersion> LoadVersion(store::Transaction& transaction, const FunctionName& function,
                                  uint64_t version);
// The environment of a version, decrypted; empty if it has none.
Result<EnvMap> LoadEnv(store::Transaction& transaction, const FunctionName& function,
                       const VersionMeta& meta, const SecretKeys& secrets);

}  // namespace cairn::functions
