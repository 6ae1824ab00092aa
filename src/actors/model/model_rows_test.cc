// Ids, keys and values: bytes as they are on disk.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "actors/model/actor_id.h"
#include "actors/model/actor_key.h"
#include "actors/model/keys.h"
#include "actors/model/limits.h"
#include "actors/model/records.h"
#include "actors/model/refusal.h"

namespace cairn::actors {
namespace {

using namespace std::string_literals;

// The id 00 01 02 … 0f, label 1.
ActorId CountingId() {
  return *ActorId::FromBytes(
      "\0\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\0\x01"s);
}
const std::string kIdHex = "0100ff0102030405060708090a0b0c0d0e0f00ff0100";

// --- Ids -----------------------------------------------------------------------------------------

TEST(ActorIdTest, IsShownIn30DigitsOfBase36) {
  const std::string text = CountingId().ToString();
  EXPECT_EQ(text.size(), 30U);
  EXPECT_EQ(ActorId::Parse(text), CountingId());
  EXPECT_EQ(ActorId::FromBytes(Bytes(18, '\0'))->ToString(), "00laebsi7rpgfoz4oncaub1gcx0fls");
}

TEST(ActorIdTest, AllOfThemSortAsTheirBytes) {
  SeededRandom random(1);
  for (int i = 0; i < 1'000; ++i) {
    const ActorId a = ActorId::New(random);
    const ActorId b = ActorId::New(random);
    EXPECT_EQ(ActorId::Parse(a.ToString()), a);
    EXPECT_EQ(a.view() < b.view(), a.ToString() < b.ToString());
  }
}

TEST(ActorIdTest, AreRandomUuidsWithALabel) {
  SeededRandom random(1);
  const Bytes bytes(ActorId::New(random).view());
  EXPECT_EQ(bytes[6] & 0xF0, 0x40);
  EXPECT_EQ(bytes.substr(16), "\0\x01"s);
}

TEST(ActorIdTest, NothingElseIsOne) {
  const std::string text = CountingId().ToString();
  EXPECT_EQ(ActorId::Parse(""), std::nullopt);
  EXPECT_EQ(ActorId::Parse(text.substr(1)), std::nullopt);
  EXPECT_EQ(ActorId::Parse(text + "0"), std::nullopt);
  EXPECT_EQ(ActorId::Parse(std::string(30, 'z')), std::nullopt);  // too large
  EXPECT_EQ(ActorId::Parse(std::string(30, '0')), std::nullopt);  // of no form
  EXPECT_EQ(ActorId::Parse("A" + text.substr(1)), std::nullopt);
  EXPECT_EQ(ActorId::Parse("-" + text.substr(1)), std::nullopt);
  EXPECT_EQ(ActorId::FromBytes("short"), std::nullopt);
}

// --- Keys of actors ------------------------------------------------------------------------------

TEST(ActorKeyTest, EveryListHasOneText) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "/"},
      {{"a"}, "a"},
      {{"a", "b"}, "a/b"},
      {{""}, "\\0"},
      {{"", ""}, "\\0/\\0"},
      {{"", "x"}, "\\0/x"},
      {{"a/b", "c\\d"}, "a\\/b/c\\\\d"},
      {{"\\0"}, "\\\\0"},
      {{"/"}, "\\/"},
      {{"0"}, "0"},
  };
  for (const auto& [parts, text] : cases) {
    EXPECT_EQ(ActorKeyText(parts), text);
    EXPECT_EQ(ParseActorKey(text), parts) << text;
  }
}

TEST(ActorKeyTest, OtherTextsAreOfNoList) {
  for (const char* text : {"", "a/", "/a", "//", "a//b", "\\", "a\\", "a\\b", "a\\0", "\\0a"}) {
    EXPECT_EQ(ParseActorKey(text), std::nullopt) << text;
    EXPECT_FALSE(CheckActorKey(text).ok()) << text;
  }
}

TEST(ActorKeyTest, LengthsAreBounded) {
  EXPECT_TRUE(CheckActorKey(std::string(kMaxKeyPartBytes, 'a')).ok());
  EXPECT_FALSE(CheckActorKey(std::string(kMaxKeyPartBytes + 1, 'a')).ok());
  const std::vector<std::string> parts(7, std::string(kMaxKeyPartBytes, 'a'));
  std::string text = ActorKeyText(parts) + "/" + std::string(121, 'b');
  EXPECT_EQ(text.size(), kMaxActorKeyBytes);
  EXPECT_TRUE(CheckActorKey(text).ok());
  EXPECT_FALSE(CheckActorKey(text + "b").ok());
  EXPECT_FALSE(CheckActorKey("\xFF").ok());  // no text
}

TEST(ActorKeyTest, NamesAreShortAndPlain) {
  EXPECT_TRUE(CheckName("a name", "Counter_1.x-y").ok());
  EXPECT_TRUE(CheckName("a name", std::string(kMaxNameBytes, 'a')).ok());
  for (const std::string& name :
       {std::string(), std::string(kMaxNameBytes + 1, 'a'), "a/b"s, "a b"s, "\xC3\xA4"s, "a\0"s}) {
    EXPECT_FALSE(CheckName("a name", name).ok()) << name;
  }
}

// --- Rows ----------------------------------------------------------------------------------------

TEST(ActorRowsTest, GoldenKeys) {
  const ActorId id = CountingId();
  const EntryKeys keys(id);
  EXPECT_EQ(HexEncode(RecordKey(id)), "15011501" + kIdHex);
  EXPECT_EQ(HexEncode(StateKey(id)), "15011502" + kIdHex);
  EXPECT_EQ(HexEncode(DirectoryKey("n", "a", "k/l")), "15011503026e00026100026b2f6c00");
  EXPECT_EQ(HexEncode(InputKey(id)), "15011504" + kIdHex);
  EXPECT_EQ(HexEncode(TokenKey(id, "t")), "15011505" + kIdHex + "017400");
  EXPECT_EQ(HexEncode(TokenAgeKey(id, 300, "t")), "15011506" + kIdHex + "16012c017400");
  EXPECT_EQ(HexEncode(PurgeKey(id)), "15011507" + kIdHex);
  EXPECT_EQ(HexEncode(ActorCountKey()), "15011508");
  EXPECT_EQ(HexEncode(ByteCountKey()), "15011509");
  // (0, 3, 72, id, (key), 44) and (0, 3, 72, id, (key), 4, index)
  EXPECT_EQ(HexEncode(keys.Metadata("k")), "1415031548" + kIdHex + "05016b0000152c");
  EXPECT_EQ(HexEncode(keys.Chunk("k", 0)), "1415031548" + kIdHex + "05016b0000150414");
  EXPECT_EQ(HexEncode(keys.Chunk("k", 1)), "1415031548" + kIdHex + "05016b000015041501");
  EXPECT_EQ(HexEncode(keys.Chunk("\0"s, 256)), "1415031548" + kIdHex + "050100ff00001504160100");
  EXPECT_EQ(HexEncode(keys.Metadata("")), "1415031548" + kIdHex + "05010000152c");
}

TEST(ActorRowsTest, GoldenValues) {
  EXPECT_EQ(HexEncode(EncodeRecord({"n", "a", "k", 300})),
            "0116012c026e0002610002"
            "6b00");
  EXPECT_EQ(HexEncode(EncodeState({1, 2, 3, 4, 5})),
            "01000000000000000100000000000000020000000000000003000000000000000400000005");
  EXPECT_EQ(HexEncode(EncodeEntryMeta({1, 2, 3, 4})),
            "010000000000000001000000000000000200000003"
            "00000004");
  EXPECT_EQ(HexEncode(EncodeTokenRow({1, 2, 3})),
            "000000000000000100000000000000020000000000000003");
  EXPECT_EQ(ChecksumOf("123456789"), 0xE3069283U);  // CRC-32C's check value
}

TEST(ActorRowsTest, DecodersTakeBackWhatWasEncoded) {
  const ActorId id = CountingId();
  const EntryKeys keys(id);
  for (const Bytes& key : {""s, "\0"s, "k"s, "\xFF\xFF"s, "\0\xFF\0"s, Bytes(2'046, '\0')}) {
    EXPECT_EQ(keys.Decode(keys.Metadata(key)), (EntryKeys::Row{key, std::nullopt}));
    EXPECT_EQ(keys.Decode(keys.Chunk(key, 70'000)), (EntryKeys::Row{key, 70'000}));
    EXPECT_EQ(DecodeEntriesId(keys.Metadata(key)), id);
  }
  EXPECT_EQ(DecodeDirectoryKey(DirectoryKey("n", "a", "")), (DirectoryEntry{"n", "a", ""}));
  EXPECT_EQ(DecodeIdKey(StatesPrefix(), StateKey(id)), id);
  EXPECT_EQ(DecodeTokenAgeKey(TokenAgeKey(id, 5, "t")), (TokenAge{5, "t"}));
  EXPECT_EQ(DecodeRecord(EncodeRecord({"n", "a", "k", -1})), (ActorRecord{"n", "a", "k", -1}));
  EXPECT_EQ(DecodeState(EncodeState({1, 2, 3, 4, 5})), (ActorState{1, 2, 3, 4, 5}));
  EXPECT_EQ(DecodeEntryMeta(EncodeEntryMeta({1, 2, 3, 4})), (EntryMeta{1, 2, 3, 4}));
  EXPECT_EQ(DecodeTokenRow(EncodeTokenRow({1, 2, 3})), (TokenRow{1, 2, 3}));
}

TEST(ActorRowsTest, WhatIsCutOffIsRefused) {
  const ActorId id = CountingId();
  const EntryKeys keys(id);
  const Bytes chunk = keys.Chunk("k", 7);
  for (size_t size = 0; size < chunk.size(); ++size) {
    EXPECT_EQ(keys.Decode(chunk.substr(0, size)), std::nullopt) << size;
  }
  const auto refuses = [](const Bytes& whole, auto decode) {
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(decode(whole.substr(0, size))) << HexEncode(whole) << " " << size;
    }
    EXPECT_FALSE(decode(whole + "\x01"));
  };
  refuses(DirectoryKey("n", "a", "k"), DecodeDirectoryKey);
  refuses(TokenAgeKey(id, 5, "t"), DecodeTokenAgeKey);
  refuses(EncodeRecord({"n", "a", "k", 1}), DecodeRecord);
  refuses(EncodeState({}), DecodeState);
  refuses(EncodeEntryMeta({}), DecodeEntryMeta);
  refuses(EncodeTokenRow({}), DecodeTokenRow);
}

TEST(ActorRowsTest, NoFamilyBeginsWithAnother) {
  const ActorId id = CountingId();
  const std::vector<Bytes> prefixes = {
      RecordsPrefix(),    StatesPrefix(), DirectoryPrefix(), PurgesPrefix(), TokenPrefix(id),
      TokenAgePrefix(id), InputKey(id),   ActorCountKey(),   ByteCountKey(), EntriesPrefix()};
  for (const Bytes& one : prefixes) {
    for (const Bytes& other : prefixes) {
      EXPECT_EQ(one.starts_with(other), &one == &other) << HexEncode(one);
    }
  }
}

TEST(ActorRowsTest, RowsOfEntriesSortAsTheirKeys) {
  const EntryKeys keys(CountingId());
  const std::vector<Bytes> ordered = {""s,     "\0"s,      "\0\0"s,     "\0\x01"s, "\0\xFF"s,
                                      "\x01",  "a"s,       "a\0"s,      "a\0\0"s,  "a\x01"s,
                                      "a\xFF", "a\xFF\0"s, "a\xFF\xFF", "b"s,      "\xFF"s};
  for (size_t i = 1; i < ordered.size(); ++i) {
    EXPECT_LT(keys.Metadata(ordered[i - 1]), keys.Chunk(ordered[i], 0)) << i;
    EXPECT_LT(keys.Chunk(ordered[i], ~0ULL), keys.Metadata(ordered[i])) << i;
  }
}

// --- Refusals ------------------------------------------------------------------------------------

TEST(ActorRefusalTest, FieldsAreTakenFromTheText) {
  const Error error = Refuse(Reason::kQuotaExceeded, {{"limit", "1"}, {"size", "2"}}, "too [much]");
  EXPECT_EQ(error.message, "QUOTA_EXCEEDED [limit=1,size=2] too [much]");
  const auto refusal = ReadRefusal(error);
  ASSERT_TRUE(refusal);
  const FieldsAndText split = SplitFields(refusal->text);
  EXPECT_EQ(split.fields, (Fields{{"limit", "1"}, {"size", "2"}}));
  EXPECT_EQ(split.text, "too [much]");
}

TEST(ActorRefusalTest, ATextWithoutFieldsStaysAsItIs) {
  for (const char* text : {"plain", "[no end", "[no equals] text", ""}) {
    EXPECT_EQ(SplitFields(text).text, text);
    EXPECT_TRUE(SplitFields(text).fields.empty());
  }
}

}  // namespace
}  // namespace cairn::actors
