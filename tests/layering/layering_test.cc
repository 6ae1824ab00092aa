#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/layering/tree.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::string_view kLayers =
    "# a comment\n"
    "layer base\n"
    "layer store  base\n"
    "layer net    base\n"
    "layer doors/access  base\n"
    "layer doors/turn    base doors/access\n"
    "layer doors         base doors/access doors/turn\n"
    "layer app           base doors\n"
    "layer tests  base store\n"
    "foreign rocksdb/  store\n"
    "foreign engine.h  store/deep\n";

// A small tree that keeps every rule, to which each test adds one offence.
class LayeringTest : public ::testing::Test {
 protected:
  LayeringTest() {
    Write("layers.txt", kLayers);
    for (const char* folder : {"base", "store", "net", "doors", "app"}) {
      Write("src/" + std::string(folder) + "/README.md", "");
    }
    Write("src/base/bytes.h", "#pragma once\n#include <string>\n");
    Write("src/store/store.h", "#pragma once\n#include \"base/bytes.h\"\n");
    Write("src/store/store.cc", "#include \"store/store.h\"\n#include <rocksdb/db.h>\n");
    Write("src/store/store_test.cc", "#include \"tests/support/clock.h\"\n");
    Write("tests/crash/crash_test.cc", "#include \"store/store.h\"\n");
  }

  void Write(const std::string& path, std::string_view text) {
    const std::filesystem::path file = directory_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  std::vector<std::string> Offences() const {
    return FindOffences(directory_.path(), ReadLayers(directory_ / "layers.txt"));
  }

  TempDirectory directory_;
};

TEST_F(LayeringTest, ATreeThatKeepsTheRulesHasNoOffences) { EXPECT_THAT(Offences(), IsEmpty()); }

TEST_F(LayeringTest, AnIncludeOfALayerAboveIsNamed) {
  Write("src/base/bytes.cc", "// Bytes.\n#include \"store/store.h\"\n");
  EXPECT_THAT(Offences(), ElementsAre("src/base/bytes.cc:2: base may not include store/store.h"));
}

TEST_F(LayeringTest, AnIncludeOfALayerBesideIsNamedInAngleBracketsToo) {
  Write("src/net/loop.h", "#pragma once\n  #  include <store/store.h>\n");
  EXPECT_THAT(Offences(), ElementsAre("src/net/loop.h:2: net may not include store/store.h"));
}

TEST_F(LayeringTest, TestProgramsHaveARowToo) {
  Write("tests/abuse/abuse_test.cc", "#include \"net/loop.h\"\n");
  EXPECT_THAT(Offences(),
              ElementsAre("tests/abuse/abuse_test.cc:1: tests may not include net/loop.h"));
}

TEST_F(LayeringTest, PartsOfAFolderHaveRowsOfTheirOwn) {
  Write("src/doors/access/principal.h", "#pragma once\n#include \"base/bytes.h\"\n");
  Write("src/doors/turn/turn.cc", "#include \"doors/access/principal.h\"\n");
  Write("src/doors/doors.cc", "#include \"doors/turn/turn.h\"\n");
  Write("src/app/server.cc", "#include \"doors/turn/turn.h\"\n");
  Write("src/doors/access/principal_test.cc", "#include \"doors/turn/turn.h\"\n");
  EXPECT_THAT(Offences(), IsEmpty());
  Write("src/doors/access/principal.cc", "#include \"doors/turn/turn.h\"\n");
  Write("src/doors/turn/loop.cc", "#include \"doors/doors.h\"\n");
  EXPECT_THAT(Offences(),
              ElementsAre("src/doors/access/principal.cc:1: doors/access may not include "
                          "doors/turn/turn.h",
                          "src/doors/turn/loop.cc:1: doors/turn may not include doors/doors.h"));
}

TEST_F(LayeringTest, AnIncludeThatClimbsIsNamed) {
  Write("src/net/loop.cc", "#include \"../store/store.h\"\n");
  EXPECT_THAT(Offences(),
              ElementsAre("src/net/loop.cc:1: climbs out of its folder: ../store/store.h"));
}

TEST_F(LayeringTest, AWrappedLibraryIsIncludedOnlyByTheFolderThatWrapsIt) {
  Write("src/net/loop.cc", "#include <rocksdb/db.h>\n");
  Write("src/store/store.cc", "#include <engine.h>\n");
  Write("src/store/deep/engine.cc", "#include <engine.h>\n");
  EXPECT_THAT(Offences(),
              ElementsAre("src/net/loop.cc:1: rocksdb/db.h may only be included in store",
                          "src/store/store.cc:1: engine.h may only be included in store/deep"));
}

TEST_F(LayeringTest, ProductCodeDoesNotIncludeTestHelpers) {
  Write("src/store/testing/fixture.h", "#pragma once\n#include \"base/testing/temp_dir.h\"\n");
  Write("src/store/store.cc", "#include \"store/testing/fixture.h\"\n");
  EXPECT_THAT(Offences(), ElementsAre("src/store/store.cc:1: product code includes a test helper: "
                                      "store/testing/fixture.h"));
}

TEST_F(LayeringTest, AHeaderWithoutPragmaOnceIsNamed) {
  Write("src/base/clock.h", "namespace cairn {}\n");
  EXPECT_THAT(Offences(), ElementsAre("src/base/clock.h:1: no #pragma once"));
}

TEST_F(LayeringTest, AnUnfinishedSpotIsNamed) {
  const std::string line = std::string("// FIX") + "ME later";
  Write("src/base/check.cc", line);
  EXPECT_THAT(Offences(), ElementsAre("src/base/check.cc:1: unfinished: " + line));
}

TEST_F(LayeringTest, AFileThatGrewTooLongIsNamed) {
  std::string text;
  for (int i = 0; i < kMaxLines; ++i) text += "\n";
  Write("src/base/check.cc", text);
  EXPECT_THAT(Offences(), IsEmpty());
  Write("src/base/check.cc", text + "\n");
  EXPECT_THAT(Offences(), ElementsAre("src/base/check.cc:1: 801 lines, more than 800: does it have "
                                      "one subject?"));
}

TEST_F(LayeringTest, AClassOfTheDoorsThatDoesEverythingIsNamed) {
  const auto write = [&](int functions) {
    std::string text = "#pragma once\nclass Hub final {\n public:\n  Hub();\n  ~Hub();\n";
    text +=
        "  Hub& operator=(const Hub&) = delete;\n  // Runs (soon).\n  using Run = void (*)();\n";
    for (int i = 0; i < functions; ++i) text += "  int Get" + std::to_string(i) + "() const;\n";
    Write("src/doors/turn/hub.h", text + " private:\n  void Hide();\n};\n");
  };
  write(kMaxPublicFunctions);
  EXPECT_THAT(Offences(), IsEmpty());
  write(kMaxPublicFunctions + 1);
  EXPECT_THAT(Offences(), ElementsAre("src/doors/turn/hub.h:32: Hub has 21 public functions, more "
                                      "than 20"));
}

TEST_F(LayeringTest, ProductCodeDoesNotAskTheMachineForTheTime) {
  Write("src/net/loop.cc", "// as steady_clock::now() does\nauto now = steady_clock::now();\n");
  Write("src/net/loop_test.cc", "auto now = steady_clock::now();\n");
  EXPECT_THAT(Offences(), ElementsAre("src/net/loop.cc:2: asks the machine for the time; take it "
                                      "from a Clock (base/clock.h)"));
}

TEST_F(LayeringTest, AFileThatMayAskForTheTimeAndDoesNotIsNamed) {
  Write("src/base/clock.cc", "int ticks;\n");
  EXPECT_THAT(Offences(), ElementsAre("src/base/clock.cc:1: no longer asks for the time: remove it "
                                      "from kOwnTime"));
}

TEST_F(LayeringTest, AFolderNeedsARowAndAReadme) {
  Write("src/extra/thing.cc", "");
  EXPECT_THAT(Offences(),
              ElementsAre("src/extra: no row in layers.txt", "src/extra: no README.md"));
}

// Tests run from the source directory.
TEST(Tree, KeepsTheRules) {
  const Layers layers = ReadLayers("cmake/layers.txt");
  ASSERT_TRUE(layers.may_include.contains("app")) << "not run from the source directory?";
  for (const std::string& offence : FindOffences(".", layers)) ADD_FAILURE() << offence;
}

// A layer is a folder and a line: outside of its folder, only the list of layers makes it, and
// nobody includes its layer.h (<generated/layers.h> includes them all).
TEST(Tree, ALayerIsOneLineOutsideOfItsFolder) {
  const std::vector<LayerUse> uses = FindLayerUses(".");
  ASSERT_FALSE(uses.empty());
  for (const LayerUse& use : uses) {
    EXPECT_THAT(use.made_at, ElementsAre(StartsWith("src/app/layers.cc:"))) << use.layer;
    EXPECT_THAT(use.included_at, IsEmpty()) << use.layer;
  }
}

}  // namespace
}  // namespace cairn::testing
