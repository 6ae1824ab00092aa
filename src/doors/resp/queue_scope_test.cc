#include "doors/resp/queue_scope.h"

#include <gtest/gtest.h>

namespace cairn::doors {
namespace {

TEST(QueueScopeTest, NamesMatchWholeAndPatternsTheirBeginning) {
  const Result<QueueScope> scope = QueueScope::Parse("emails, reports.*");
  ASSERT_TRUE(scope.ok());
  EXPECT_TRUE(scope->Allows("emails"));
  EXPECT_TRUE(scope->Allows("reports.daily"));
  EXPECT_TRUE(scope->Allows("reports."));
  for (const char* queue : {"", "email", "emails2", "Emails", "reports", "xreports.a"}) {
    EXPECT_FALSE(scope->Allows(queue)) << queue;
  }
  EXPECT_EQ(scope->Describe(), "emails,reports.*");
}

TEST(QueueScopeTest, WhoHasNoneMayTouchAll) {
  EXPECT_TRUE(Allows(nullptr, "any"));
  const Result<QueueScope> scope = QueueScope::Parse("a");
  EXPECT_FALSE(Allows(&*scope, "any"));
}

TEST(QueueScopeTest, WhatNamesNoQueueIsRefused) {
  for (const char* text : {"", " ", ",", "a,", ",a", "a,,b", "a*b", "**", "a\nb"}) {
    EXPECT_FALSE(QueueScope::Parse(text).ok()) << text;
  }
  EXPECT_FALSE(QueueScope::Parse(std::string(300, 'x')).ok());
  std::string many = "q";
  for (int i = 0; i < 100; ++i) many += ",q";
  EXPECT_FALSE(QueueScope::Parse(many).ok());
  // All queues, said explicitly.
  EXPECT_TRUE(QueueScope::Parse("*")->Allows("any"));
}

}  // namespace
}  // namespace cairn::doors
