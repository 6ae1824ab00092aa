#include "functions/cadence/keys.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn::functions {
namespace {

using Kind = CadenceKeyParts::Kind;

const NamespaceName kNamespace{"t_abc123", "payments"};

TEST(CadenceKeysTest, EveryKeyIsTakenApartAgain) {
  const std::string hash(64, 'a');
  EXPECT_EQ(ParseCadenceKey(BindingIndexKey(kNamespace)),
            (CadenceKeyParts{kNamespace, Kind::kIndex, ""}));
  EXPECT_EQ(ParseCadenceKey(BindingKey(kNamespace, "acts")),
            (CadenceKeyParts{kNamespace, Kind::kMeta, "acts"}));
  EXPECT_EQ(ParseCadenceKey(BindingKey(kNamespace, "meta")),
            (CadenceKeyParts{kNamespace, Kind::kMeta, "meta"}));
  EXPECT_EQ(ParseCadenceKey(CadenceTaskKey(kNamespace, hash)),
            (CadenceKeyParts{kNamespace, Kind::kTask, hash}));
}

TEST(CadenceKeysTest, OtherKeysAreNone) {
  for (const char* const key :
       {"", "cs:cadence:", "cs:cadence:t_abc123", "cs:cadence:t_abc123:payments",
        "cs:cadence:t_abc123:payments:", "cs:cadence:t_abc123:payments:workers",
        "cs:cadence:t_abc123:payments:workers:index:", "cs:cadence:t_abc123:payments:worker:acts",
        "cs:cadence:t_abc123:payments:worker::meta", "cs:cadence:t_abc123:payments:worker:a:meta",
        "cs:cadence:t_abc123:payments:worker:acts:meta:x", "cs:cadence:t_abc123:payments:task:00ff",
        "cs:cadence:abc:payments:workers:index", "cs:schedule:t_abc123:payments:index"}) {
    EXPECT_EQ(ParseCadenceKey(key), std::nullopt) << key;
  }
}

}  // namespace
}  // namespace cairn::functions
