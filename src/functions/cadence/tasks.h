#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "functions/activation/accept.h"
#include "functions/cadence/wire.h"
#include "functions/model/records.h"
#include "store/transaction.h"

// Tasks of Cadence: how one becomes an activation, and what its activation tells Cadence. Pure
// functions, and steps inside a transaction.
//
//   a poll brings a task
//   one commit: the activation is queued, its request published to cs.invoke, and
//               cs:cadence:T:N:task:HASH holds the token
//   the activation ends, in a commit of the invoker
//   Cadence is told; then one commit removes the task
//
// A crash between two of these leaves the task's record, from which the rest is done again. The
// activation's id is made of the token: a task that is given out twice is one activation.
namespace cairn::functions {

// Who invokes a function when Cadence does: one of these roles is in invoke_cadence_roles, if the
// version has that list.
inline constexpr std::string_view kCadenceSubject = "sp:cs-cadence-poller";
inline constexpr std::string_view kCadenceRole = "role:cadence";

// Of a task: SHA-256 of the token, in hexadecimal.
std::string TokenHash(BytesView token);
std::string TaskActivationId(const NamespaceName& ns, std::string_view token_hash);

// {"activation_id","created_at_ms","worker","domain","tasklist","worker_id","token"}: a task that
// has to be answered, with all that takes, as it is stored. The token is in base64.
struct CadenceTask {
  std::string activation_id;
  int64_t created_at_ms = 0;
  std::string worker;  // the binding that it came through; it may be gone
  std::string domain;
  std::string tasklist;
  std::string worker_id;
  Bytes token;
  friend bool operator==(const CadenceTask&, const CadenceTask&) = default;
};
std::string Encode(const CadenceTask& task);
// CS_KVROCKS_READ_FAILED says what is wrong with it.
Result<CadenceTask> DecodeCadenceTask(std::string_view text);
CadenceTask TaskRecord(const WorkerBinding& binding, const ActivityTask& task, int64_t now_ms);

// What is asked of cs.invoke. `trigger.source` and the event's `cadence` are
//   {"domain","tasklist","workflowId","runId","activityId","activityType","attempt"}
// and the source has "task", the token's hash; the event is
//   {"type":"cadence.activity","cadence":{…},"input":{"raw_base64"}}
// nullopt if the binding does not name the activity's type.
std::optional<InvocationRequest> RequestOf(const WorkerBinding& binding, const ActivityTask& task,
                                           int64_t now_ms);
// The hash in the source of an activation's trigger; empty if Cadence has not started it.
std::string TokenHashOf(const Trigger& trigger);

// Reasons of what fails before it is run; "error" and "timeout" are those of a run.
inline constexpr std::string_view kMappingNotFound = "mapping_not_found";
inline constexpr std::string_view kResolveFailed = "resolve_version_failed";
inline constexpr std::string_view kVersionNotFound = "version_not_found";
inline constexpr std::string_view kTaskRoleMissing = "role_missing";
inline constexpr std::string_view kPublishFailed = "publish_failed";

// An error of CheckRequest as a reason.
std::string_view ReasonOf(const Error& error, const Ref& ref);
// {"type","message"} of an error before the run.
TaskAnswer FailureOf(std::string_view reason, const Error& error);
// What an activation that has ended tells Cadence: its result, or its error.
TaskAnswer AnswerOf(const Activation& activation);

// Whether the error says that something is wrong with the request, and not that the store could not
// answer.
bool IsAboutTheRequest(const Error& error);

// --- In a transaction ----------------------------------------------------------------------------

Result<void> PutTask(store::Transaction& transaction, const NamespaceName& ns,
                     const CadenceTask& task);
// nullopt: there is none, or it cannot be read.
Result<std::optional<CadenceTask>> FindTask(store::Transaction& transaction,
                                            const NamespaceName& ns, std::string_view token_hash);
Result<void> RemoveTask(store::Transaction& transaction, const NamespaceName& ns,
                        std::string_view token_hash);

// A task that has not been answered.
struct PendingTask {
  NamespaceName ns;
  CadenceTask task;
  // When its activation has ended, if it has; 0 if there is no such activation any more.
  std::optional<int64_t> ended_ms;
};
Result<std::vector<PendingTask>> ListTasks(store::Transaction& transaction);

}  // namespace cairn::functions
