#include "functions/model/bundle.h"

#include <gtest/gtest.h>

#include <string>

#include "functions/model/digest.h"
#include "functions/model/errors.h"
#include "functions/model/limits.h"

namespace cairn::functions {
namespace {

Files Small() { return {{"function.js", "export default 1"}, {"manifest.json", "{}"}}; }

std::string Problem(const Files& files) {
  const Result<Bytes> tar = WriteBundle(files);
  return tar.ok() ? "none" : std::string(RefusalText(tar.error()));
}

std::string ReadProblem(BytesView tar) {
  const Result<Bundle> bundle = Bundle::Read(tar);
  return bundle.ok() ? "none" : std::string(RefusalText(bundle.error()));
}

Files FilesOf(const Bundle& bundle) {
  Files files;
  for (const auto& [path, content] : bundle.files()) files.emplace(path, content);
  return files;
}

TEST(BundleTest, TheSameFilesMakeTheSameBytes) {
  const Bytes tar = *WriteBundle(Small());
  EXPECT_EQ(tar.size(), 2U * 1024 + 1024);
  // As tar --format=ustar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=0644
  // makes it, without what it pads behind the end.
  EXPECT_EQ(tar.substr(0, 11), "function.js");
  EXPECT_EQ(tar.substr(100, 8), std::string_view("0000644\0", 8));
  EXPECT_EQ(tar.substr(124, 12), std::string_view("00000000020\0", 12));
  EXPECT_EQ(tar.substr(136, 12), std::string_view("00000000000\0", 12));
  EXPECT_EQ(tar.substr(156, 1), "0");
  EXPECT_EQ(tar.substr(257, 8), std::string_view("ustar\00000", 8));
  EXPECT_EQ(Sha256Hex(tar), Sha256Hex(*WriteBundle(Small())));
}

TEST(BundleTest, FilesComeBack) {
  Files files = Small();
  files.emplace("lib/util.js", Bytes(512, 'x'));
  files.emplace("lib/empty.js", "");
  files.emplace(std::string(120, 'd') + "/" + std::string(90, 'f'), Bytes(513, '\0'));
  const Bytes tar = *WriteBundle(files);
  const Result<Bundle> bundle = Bundle::Read(tar);
  ASSERT_TRUE(bundle.ok()) << bundle.error().message;
  EXPECT_EQ(FilesOf(*bundle), files);
  EXPECT_EQ(bundle->Find("lib/util.js"), Bytes(512, 'x'));
  EXPECT_EQ(bundle->Find("lib"), std::nullopt);
}

TEST(BundleTest, PathsThatLeaveTheBundleAreRefused) {
  for (const char* path : {"", "/a.js", "../a.js", "a/../b.js", "./a.js", "a/", "a//b", ".", "..",
                           "a\\b.js", "a\nb", "a b"}) {
    EXPECT_FALSE(IsBundlePath(path)) << path;
    Files files = Small();
    files.emplace(path, "x");
    EXPECT_NE(Problem(files), "none") << path;
  }
  EXPECT_FALSE(IsBundlePath(std::string("a\0b", 3)));
  EXPECT_FALSE(IsBundlePath(std::string(101, 'x')));
  EXPECT_TRUE(IsBundlePath("node_modules/@scope/a.b/..c.js"));
}

TEST(BundleTest, TwoFilesAreNeeded) {
  EXPECT_EQ(Problem({{"manifest.json", "{}"}}), "the bundle has no function.js");
  EXPECT_EQ(Problem({{"function.js", ""}}), "the bundle has no manifest.json");
}

TEST(BundleTest, AFileCannotStandInAFile) {
  Files files = Small();
  files.emplace("function.js/a.js", "x");
  EXPECT_EQ(Problem(files), "function.js is a file, and function.js/a.js stands in it");
}

TEST(BundleTest, TheTarIsBounded) {
  Files files = Small();
  // The other two take a header and a block each, this one a header, and the end two blocks.
  const size_t others = 2 * 1024 + 512 + 1024;
  files["big.js"] = Bytes(kMaxBundleBytes - others, 'x');
  EXPECT_EQ(WriteBundle(files)->size(), kMaxBundleBytes);
  files["big.js"] += 'x';
  EXPECT_TRUE(IsRefusal(WriteBundle(files).error(), Code::kBundleTooLarge));
  EXPECT_TRUE(
      IsRefusal(Bundle::Read(Bytes(kMaxBundleBytes + 1, '\0')).error(), Code::kBundleTooLarge));
}

TEST(BundleTest, EveryChangedByteOutsideContentsIsNoticed) {
  const Bytes tar = *WriteBundle(Small());
  for (size_t at = 0; at < tar.size(); ++at) {
    const bool content = (at >= 512 && at < 528) || (at >= 1536 && at < 1538);
    Bytes changed = tar;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_EQ(Bundle::Read(changed).ok(), content) << at;
  }
}

TEST(BundleTest, TruncatedAndExtendedTarsAreRefused) {
  const Bytes tar = *WriteBundle(Small());
  for (size_t size = 0; size < tar.size(); ++size) {
    EXPECT_NE(ReadProblem(BytesView(tar).substr(0, size)), "none") << size;
  }
  EXPECT_NE(ReadProblem(tar + Bytes(512, '\0')), "none");
}

TEST(BundleTest, FilesOutOfOrderOrTwiceAreRefused) {
  const Bytes tar = *WriteBundle(Small());
  const Bytes first = tar.substr(0, 1024);
  const Bytes second = tar.substr(1024, 1024);
  const Bytes end(1024, '\0');
  EXPECT_EQ(ReadProblem(second + first + end), "function.js stands behind manifest.json");
  EXPECT_EQ(ReadProblem(first + first + second + end), "function.js stands behind function.js");
  EXPECT_EQ(ReadProblem(first + end), "the bundle has no manifest.json");
}

}  // namespace
}  // namespace cairn::functions
