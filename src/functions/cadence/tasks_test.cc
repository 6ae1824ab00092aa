#include "functions/cadence/tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "functions/activation/activations.h"
#include "functions/cadence/verify.h"
#include "functions/control/values.h"
#include "functions/model/errors.h"
#include "functions/model/limits.h"
#include "functions/model/names.h"
#include "functions/testing/schedule_fixture.h"

namespace cairn::functions {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kFunction;
using ::testing::SizeIs;

WorkerBinding Binding() {
  return {.name = "acts",
          .domain = "payments",
          .tasklist = "list",
          .worker_id = "w-1",
          .activity_map = {{"Pay", {.function = "reconcile", .alias = "prod"}}},
          .tenant = kFunction.tenant,
          .ns = kFunction.ns};
}
ActivityTask Task(std::string token = "tok") {
  return {.token = std::move(token),
          .workflow_id = "wf",
          .run_id = "run",
          .activity_id = "act-1",
          .activity_type = "Pay",
          .attempt = 2,
          .input = Bytes("\0\xFF", 2),
          .timeout_ms = 7'000};
}

TEST(TaskMappingTest, ATaskIsMappedAsTheReferenceSays) {
  const auto request = RequestOf(Binding(), Task(), 1'000);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->activation_id, TaskActivationId(kFunction.in(), TokenHash("tok")));
  EXPECT_TRUE(IsName(NameKind::kActivation, request->activation_id));
  EXPECT_EQ(request->request_id, "req_" + request->activation_id);
  EXPECT_EQ(request->trigger.type, TriggerType::kCadence);
  const std::string members =
      R"("domain":"payments","tasklist":"list","workflowId":"wf","runId":"run",)"
      R"("activityId":"act-1","activityType":"Pay","attempt":2)";
  EXPECT_EQ(request->trigger.source, "{" + members + R"(,"task":")" + TokenHash("tok") + R"("})");
  EXPECT_EQ(request->event, R"({"type":"cadence.activity","cadence":{)" + members +
                                R"(},"input":{"raw_base64":"AP8="}})");
  EXPECT_EQ(request->principal.sub, "sp:cs-cadence-poller");
  EXPECT_EQ(request->principal.roles,
            (std::vector<std::string>{"role:cadence", "sp:cs-cadence-poller"}));
  EXPECT_EQ(request->deadline_ms, 8'000);
  EXPECT_EQ(TokenHashOf(request->trigger), TokenHash("tok"));
}

TEST(TaskMappingTest, TheSameTokenIsTheSameActivationAndNoOtherIs) {
  const auto id = [](const NamespaceName& ns, const std::string& token) {
    return TaskActivationId(ns, TokenHash(token));
  };
  EXPECT_EQ(id(kFunction.in(), "tok"), id(kFunction.in(), "tok"));
  EXPECT_NE(id(kFunction.in(), "tok"), id(kFunction.in(), "tok2"));
  EXPECT_NE(id(kFunction.in(), "tok"), id({"t_abc123", "other"}, "tok"));
}

TEST(TaskMappingTest, DeadlinesAreBounded) {
  ActivityTask task = Task();
  task.timeout_ms = 0;
  EXPECT_EQ(RequestOf(Binding(), task, 0)->deadline_ms, kAsyncDeadlineMs);
  task.timeout_ms = INT64_MAX;
  EXPECT_EQ(RequestOf(Binding(), task, 0)->deadline_ms, kCadenceTaskTtlMs);
}

TEST(TaskMappingTest, AnActivityThatNobodyHasMappedIsNoRequest) {
  ActivityTask task = Task();
  task.activity_type = "Other";
  EXPECT_FALSE(RequestOf(Binding(), task, 0).has_value());
}

TEST(TaskMappingTest, OtherTriggersHaveNoTask) {
  EXPECT_EQ(TokenHashOf({TriggerType::kApi, R"({"task":"x"})"}), "");
  EXPECT_EQ(TokenHashOf({TriggerType::kCadence, R"({"task":7})"}), "");
  EXPECT_EQ(TokenHashOf({TriggerType::kCadence, "{}"}), "");
}

TEST(TaskMappingTest, WhatHasEndedIsToldAsTheReferenceSays) {
  Activation activation;
  activation.status = Status::kSuccess;
  activation.result = FunctionResult{.status_code = 200, .body = "hi"};
  const TaskAnswer done = AnswerOf(activation);
  EXPECT_FALSE(done.failed);
  EXPECT_EQ(done.text, R"({"statusCode":200,"headers":{},"body":"hi","isBase64Encoded":false})");
  activation.status = Status::kError;
  activation.error = FunctionError{.type = "Exception", .message = "no"};
  const TaskAnswer failed = AnswerOf(activation);
  EXPECT_TRUE(failed.failed);
  EXPECT_EQ(failed.reason, "error");
  EXPECT_THAT(failed.text, HasSubstr(R"("type":"Exception","message":"no")"));
  activation.status = Status::kTimeout;
  EXPECT_EQ(AnswerOf(activation).reason, "timeout");
}

TEST(TaskMappingTest, ReasonsOfWhatWasNotRun) {
  const Ref alias{.function = "f", .alias = "prod"};
  const Ref version{.function = "f", .alias = "", .version = 3};
  EXPECT_EQ(ReasonOf(Refuse(Code::kRoleMissing, "x"), alias), "role_missing");
  EXPECT_EQ(ReasonOf(Refuse(Code::kNotFound, "x"), alias), "resolve_version_failed");
  EXPECT_EQ(ReasonOf(Refuse(Code::kNotFound, "x"), version), "version_not_found");
  EXPECT_EQ(ReasonOf(Refuse(Code::kDisabled, "x"), version), "resolve_version_failed");
  const TaskAnswer failure = FailureOf(kTaskRoleMissing, Refuse(Code::kRoleMissing, "no role"));
  EXPECT_TRUE(failure.failed);
  EXPECT_EQ(failure.reason, "role_missing");
  EXPECT_THAT(failure.text, HasSubstr(R"("type":"CS_AUTHZ_ROLE_MISSING","message":"no role")"));
}

TEST(TaskMappingTest, ARecordIsReadAsItWasWritten) {
  const CadenceTask task = TaskRecord(Binding(), Task(Bytes("\0\xFF:", 3)), 5);
  EXPECT_EQ(*DecodeCadenceTask(Encode(task)), task);
  for (const char* const bad : {"", "{}", R"({"activation_id":"a","token":"!"})",
                                R"({"activation_id":7,"token":"AA=="})"}) {
    EXPECT_TRUE(IsRefusal(DecodeCadenceTask(bad).error(), Code::kStoreReadFailed)) << bad;
  }
}

// Tasks beside activations; ends with the checks of all of them.
class CadenceTaskTest : public testing::ScheduleTest {
 protected:
  void TearDown() override {
    house::Verification verification;
    EXPECT_TRUE(VerifyBindings(*store_, verification).ok());
    EXPECT_TRUE(verification.sound()) << verification.problems().front();
    testing::ScheduleTest::TearDown();
  }

  // The commit of a poller.
  void Accept(const std::string& token) {
    const auto request = RequestOf(Binding(), Task(token), now_ms());
    const auto queued = PrepareRequest(
        *request, {.message_id = "msg_" + request->activation_id, .now_ms = now_ms()});
    ASSERT_TRUE(queued.ok()) << queued.error().message;
    InJobs([&](jobs::Context& context) -> Result<void> {
      CAIRN_RETURN_IF_ERROR(CheckRequest(context.transaction, *request));
      CAIRN_RETURN_IF_ERROR(AcceptRequest(context, *queued));
      return PutTask(context.transaction, kFunction.in(),
                     TaskRecord(Binding(), Task(token), now_ms()));
    });
  }
  std::vector<PendingTask> Pending() {
    auto found = Do([&](Context& context) { return ListTasks(context.transaction); });
    EXPECT_TRUE(found.ok());
    return *std::move(found);
  }
};

TEST_F(CadenceTaskTest, WhatIsNotAnsweredIsFoundAgainWithAllThatTheAnswerTakes) {
  Accept("tok");
  Accept("tok");  // given out once more
  Accept("tik");
  RestartAll();
  ASSERT_THAT(Pending(), SizeIs(2));
  for (const PendingTask& one : Pending()) {
    EXPECT_EQ(one.ns, kFunction.in());
    EXPECT_FALSE(one.ended_ms.has_value());
    EXPECT_EQ(one.task.worker, "acts");
    EXPECT_EQ(one.task.worker_id, "w-1");
    EXPECT_EQ(one.task.domain, "payments");
  }
  EXPECT_EQ(RunAll(), 2U);
  for (const PendingTask& one : Pending()) EXPECT_TRUE(one.ended_ms.has_value());
  const auto removed = Do([&](Context& context) {
    return RemoveTask(context.transaction, kFunction.in(), TokenHash("tok"));
  });
  ASSERT_TRUE(removed.ok());
  ASSERT_THAT(Pending(), SizeIs(1));
  EXPECT_EQ(Pending().front().task.token, "tik");
  clock_.AdvanceMillis(kCadenceTaskTtlMs);
  EXPECT_THAT(Pending(), IsEmpty());
}

TEST_F(CadenceTaskTest, ARecordThatSomebodyHasWrittenOverIsNoTask) {
  Accept("tok");
  const std::string key = CadenceTaskKey(kFunction.in(), TokenHash("tok"));
  ASSERT_TRUE(Do([&](Context& context) {
                return WriteString(context.transaction, key, "{", now_ms() + 1'000);
              }).ok());
  EXPECT_THAT(Pending(), IsEmpty());
  house::Verification verification;
  ASSERT_TRUE(VerifyBindings(*store_, verification).ok());
  ASSERT_THAT(verification.problems(), SizeIs(1));
  EXPECT_THAT(verification.problems().front(), HasSubstr("is damaged"));
  ASSERT_TRUE(Do([&](Context& context) { return RemoveKey(context.transaction, key); }).ok());
  EXPECT_EQ(RunAll(), 1U);
}

}  // namespace
}  // namespace cairn::functions
