#include "functions/control/versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "functions/control/aliases.h"
#include "functions/control/values.h"
#include "functions/model/digest.h"
#include "functions/model/manifest.h"
#include "functions/model/names.h"

namespace cairn::functions {
namespace {

Error NoVersion(const FunctionName& function, uint64_t version) {
  return Refuse(Code::kNotFound,
                fmt::format("the function \"{}\" has no version {}", function.name, version));
}

// A draft that can be published, or why there is none.
Result<Draft> LoadDraft(const Context& context, const FunctionName& function,
                        const std::string& id) {
  CAIRN_RETURN_IF_ERROR(CheckName(NameKind::kDraft, id));
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> record,
                         ReadString(context.transaction, DraftKey(function, id)));
  if (record) {
    CAIRN_ASSIGN_OR_RETURN(Draft draft, DecodeDraft(*record));
    if (draft.consumed) {
      return Refuse(Code::kConflict, fmt::format("the draft {} was published already", id));
    }
    return draft;
  }
  // Its id says when it was made, so an old one is told from one that never was.
  const int64_t made_ms = DraftTime(id)->millis();
  if (made_ms + kDraftTtlMs <= context.now_ms()) {
    return Refuse(Code::kGone, fmt::format("the draft {} has expired: drafts are kept for 24 "
                                           "hours; upload the files again",
                                           id));
  }
  return Refuse(Code::kNotFound,
                fmt::format("the function \"{}\" has no draft {}", function.name, id));
}

// What is to be published: the files of the request, or of a draft.
struct Source {
  Package package;
  std::optional<Draft> draft;  // without its files
};
Result<Source> SourceOf(const Context& context, const FunctionName& function,
                        const PublishRequest& request) {
  if (request.package) return Source{*request.package, {}};
  CAIRN_ASSIGN_OR_RETURN(Draft draft, LoadDraft(context, function, request.draft_id));
  CAIRN_ASSIGN_OR_RETURN(Package package, MakePackage(std::move(draft.files)));
  if (package.sha256 != draft.sha256) {
    return Refuse(Code::kStoreReadFailed,
                  fmt::format("the draft {} is not what was uploaded", request.draft_id));
  }
  draft.files.clear();
  return Source{std::move(package), std::move(draft)};
}

Result<Source> CheckedSource(const Context& context, const FunctionName& function,
                             const PublishRequest& request) {
  CAIRN_RETURN_IF_ERROR(LoadFunction(context, function));
  if (!request.alias.empty()) CAIRN_RETURN_IF_ERROR(CheckName(NameKind::kAlias, request.alias));
  // The platform publishes there in its own name, so who asks for it must be allowed to.
  const std::string& topic = request.config.on_failure;
  if (!topic.empty() && !context.AllowsTopic(topic)) {
    return Refuse(
        Code::kResourceMismatch,
        fmt::format("config.on_failure: this key may not use the topic {}", Printable(topic)));
  }
  return SourceOf(context, function, request);
}

// Marks the draft as used up; it goes when it would have gone.
Result<void> ConsumeDraft(Context& context, const FunctionName& function, Draft draft) {
  draft.consumed = true;
  return WriteString(context.transaction, DraftKey(function, draft.draft_id), Encode(draft),
                     draft.expires_at_ms);
}

// Many versions can have the same files, and so the same code.
Result<void> WriteCode(Context& context, const FunctionName& function,
                       const CompiledCode& compiled) {
  if (compiled.code.empty() || compiled.code.size() > kMaxCodeBytes) return {};
  const std::string key = CodeKey(function, compiled.sha256);
  store::Scopes scopes;
  AddScope(key, scopes);
  CAIRN_RETURN_IF_ERROR(context.Require(scopes));
  return WriteString(context.transaction, key, compiled.code);
}

Result<void> WriteEnv(Context& context, const std::string& key, const EnvMap& env) {
  if (env.empty()) return {};
  if (context.secrets == nullptr || context.random == nullptr) return NoSecretKeys();
  CAIRN_ASSIGN_OR_RETURN(const Bytes sealed,
                         context.secrets->Seal(EncodeEnv(env), key, *context.random));
  return WriteString(context.transaction, key, sealed);
}

}  // namespace

void AddDraftScopes(const FunctionName& function, std::string_view draft, store::Scopes& scopes) {
  AddFunctionScopes(function, scopes);
  if (!draft.empty()) AddScope(DraftKey(function, draft), scopes);
}

Result<Package> MakePackage(Files files) {
  Package package{.files = std::move(files)};
  CAIRN_ASSIGN_OR_RETURN(package.tar, WriteBundle(package.files));
  CAIRN_ASSIGN_OR_RETURN(const Manifest manifest,
                         ParseManifest(package.files.find(kManifestFile)->second));
  if (!package.files.contains(manifest.entry)) {
    return Refuse(Code::kManifestInvalid,
                  fmt::format("entry names {}, which the bundle does not have", manifest.entry));
  }
  package.entry = manifest.entry;
  package.sha256 = Sha256Hex(package.tar);
  return package;
}

Result<UploadedDraft> UploadDraft(Context& context, const FunctionName& function,
                                  const std::string& draft_id, const Package& package) {
  CAIRN_RETURN_IF_ERROR(LoadFunction(context, function));
  CAIRN_RETURN_IF_ERROR(CheckName(NameKind::kDraft, draft_id));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> drafts,
                         KeysBehind(context.transaction, DraftPrefix(function)));
  if (drafts.size() >= kMaxDrafts) {
    return Refuse(Code::kTooLarge,
                  fmt::format("the function \"{}\" has {} drafts, which is as many as it may "
                              "have; they expire 24 hours after their upload",
                              function.name, drafts.size()));
  }
  const int64_t now = context.now_ms();
  const Draft draft{.draft_id = draft_id,
                    .sha256 = package.sha256,
                    .files = package.files,
                    .created_at_ms = now,
                    .expires_at_ms = now + kDraftTtlMs};
  CAIRN_RETURN_IF_ERROR(WriteString(context.transaction, DraftKey(function, draft_id),
                                    Encode(draft), draft.expires_at_ms));
  return UploadedDraft{draft_id, package.sha256, package.tar.size(), draft.expires_at_ms};
}

Result<Package> PackageToPublish(const Context& context, const FunctionName& function,
                                 const PublishRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(Source source, CheckedSource(context, function, request));
  return std::move(source.package);
}

Result<Published> Publish(Context& context, const FunctionName& function,
                          const PublishRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const Source source, CheckedSource(context, function, request));
  const Package& package = source.package;
  if (request.compiled && request.compiled->sha256 != package.sha256) {
    return Refuse(Code::kConflict,
                  fmt::format("the draft {} has changed while it was compiled; publish it again",
                              request.draft_id));
  }
  CAIRN_ASSIGN_OR_RETURN(const Manifest manifest,
                         ParseManifest(package.files.find(kManifestFile)->second));
  CAIRN_ASSIGN_OR_RETURN(const uint64_t newest, NewestVersion(context.transaction, function));
  const VersionMeta meta{.version = newest + 1,
                         .sha256 = package.sha256,
                         .config = EffectiveConfig(manifest, request.config),
                         .published_at_ms = context.now_ms()};
  store::Transaction& transaction = context.transaction;
  if (request.compiled) {
    CAIRN_RETURN_IF_ERROR(WriteCode(context, function, *request.compiled));
  }
  CAIRN_RETURN_IF_ERROR(WriteEnv(context, EnvKey(function, meta.version), request.config.env));
  CAIRN_RETURN_IF_ERROR(
      WriteString(transaction, VersionSeqKey(function), fmt::to_string(meta.version)));
  CAIRN_RETURN_IF_ERROR(WriteString(transaction, VersionKey(function, meta.version), Encode(meta)));
  CAIRN_RETURN_IF_ERROR(WriteString(transaction, BundleKey(function, meta.version), package.tar));
  if (source.draft) {
    CAIRN_RETURN_IF_ERROR(ConsumeDraft(context, function, *source.draft));
  }
  if (!request.alias.empty()) {
    const AliasUpdate update{.alias = request.alias, .target = {.version = meta.version}};
    CAIRN_RETURN_IF_ERROR(SetAlias(context, function, update));
  }
  return Published{meta.version, meta.sha256, meta.published_at_ms};
}

Result<void> StoreCode(Context& context, const FunctionName& function, uint64_t version,
                       const CompiledCode& compiled) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> record,
                         ReadString(context.transaction, VersionKey(function, version)));
  if (!record) return {};
  CAIRN_ASSIGN_OR_RETURN(const VersionMeta meta, DecodeVersionMeta(*record));
  if (meta.sha256 != compiled.sha256) return {};
  return WriteCode(context, function, compiled);
}

Result<std::optional<Bytes>> LoadCode(store::Transaction& transaction, const FunctionName& function,
                                      std::string_view sha256) {
  Result<std::optional<Bytes>> code = ReadString(transaction, CodeKey(function, sha256));
  // Somebody has written over it: it is made anew.
  if (!code.ok() && IsRefusal(code.error(), Code::kStoreReadFailed)) return std::optional<Bytes>();
  return code;
}

Result<uint64_t> NewestVersion(store::Transaction& transaction, const FunctionName& function) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> record,
                         ReadString(transaction, VersionSeqKey(function)));
  if (!record) return uint64_t{0};
  const std::optional<uint64_t> version = ParseVersion(*record);
  if (!version) {
    return Refuse(Code::kStoreReadFailed,
                  fmt::format("the key {} is not a number", VersionSeqKey(function)));
  }
  return *version;
}

Result<VersionMeta> LoadVersionMeta(store::Transaction& transaction, const FunctionName& function,
                                    uint64_t version) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> record,
                         ReadString(transaction, VersionKey(function, version)));
  if (!record) return NoVersion(function, version);
  return DecodeVersionMeta(*record);
}

Result<VersionMeta> GetVersion(const Context& context, const FunctionName& function,
                               uint64_t version) {
  CAIRN_RETURN_IF_ERROR(LoadFunction(context, function, Deleted::kShown));
  return LoadVersionMeta(context.transaction, function, version);
}

Result<VersionPage> ListVersions(const Context& context, const FunctionName& function,
                                 uint64_t before, size_t limit) {
  CAIRN_RETURN_IF_ERROR(LoadFunction(context, function, Deleted::kShown));
  CAIRN_ASSIGN_OR_RETURN(const uint64_t newest, NewestVersion(context.transaction, function));
  VersionPage page;
  uint64_t version = before == 0 ? newest : std::min(newest, before - 1);
  for (; version > 0 && page.versions.size() < limit; --version) {
    CAIRN_ASSIGN_OR_RETURN(VersionMeta meta,
                           LoadVersionMeta(context.transaction, function, version));
    page.versions.push_back(std::move(meta));
  }
  if (version > 0 && !page.versions.empty()) page.cursor = page.versions.back().version;
  return page;
}

Result<LoadedVersion> LoadVersion(store::Transaction& transaction, const FunctionName& function,
                                  uint64_t version) {
  LoadedVersion loaded;
  CAIRN_ASSIGN_OR_RETURN(loaded.meta, LoadVersionMeta(transaction, function, version));
  CAIRN_ASSIGN_OR_RETURN(std::optional<Bytes> bundle,
                         ReadString(transaction, BundleKey(function, version)));
  if (!bundle || Sha256Hex(*bundle) != loaded.meta.sha256) {
    return Refuse(Code::kStoreReadFailed,
                  fmt::format("the bundle of {} version {} is not what was published",
                              ResourceName(function), version));
  }
  loaded.bundle = *std::move(bundle);
  return loaded;
}

Result<EnvMap> LoadEnv(store::Transaction& transaction, const FunctionName& function,
                       const VersionMeta& meta, const SecretKeys& secrets) {
  if (meta.config.env_names.empty()) return EnvMap();
  const std::string key = EnvKey(function, meta.version);
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> sealed, ReadString(transaction, key));
  if (!sealed) {
    return Refuse(Code::kStoreReadFailed, fmt::format("the environment of {} version {} is missing",
                                                      ResourceName(function), meta.version));
  }
  CAIRN_ASSIGN_OR_RETURN(const Bytes plain, secrets.Open(*sealed, key));
  return DecodeEnv(plain);
}

}  // namespace cairn::functions
