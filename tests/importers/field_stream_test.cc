// SPDX-License-Identifier: Apache-2.0
#include "importers/common/field_stream.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "base/byte_source.h"

namespace xlatrace::importers {
namespace {

struct Field {
  uint32_t key = 0;
  std::string payload;  // Payload of fields with a length.
  uint64_t value = 0;   // Value of varints.
  bool operator==(const Field&) const = default;
};

// The fields that protozero reads from the same bytes in memory, until it throws.
std::vector<Field> ByProtozero(const std::string& bytes, bool* damaged) {
  std::vector<Field> fields;
  protozero::pbf_reader reader(bytes);
  try {
    while (reader.next()) {
      Field field{static_cast<uint32_t>(reader.tag_and_type()), {}, 0};
      if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
        field.payload = reader.get_string();
      } else if (reader.wire_type() == protozero::pbf_wire_type::varint) {
        field.value = reader.get_uint64();
      } else {
        reader.skip();
      }
      fields.push_back(std::move(field));
    }
  } catch (const protozero::exception&) {
    *damaged = true;
  }
  return fields;
}

std::vector<Field> ByStream(const ByteSource& source, bool* damaged) {
  std::vector<Field> fields;
  FieldStream stream(source, {0, source.size()});
  try {
    while (stream.Next()) {
      Field field{stream.key(), {}, 0};
      if ((stream.key() & 7) == 2) {
        field.payload = stream.View();
      } else if ((stream.key() & 7) == 0) {
        field.value = stream.Varint();
      }
      fields.push_back(std::move(field));
    }
  } catch (const protozero::exception&) {
    *damaged = true;
  }
  return fields;
}

// Fields of all wire types; payloads from nothing to more than any window, a megabyte in all.
std::string Message() {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  std::mt19937_64 random(11);
  for (const size_t size : {0, 1, 127, 128, 5'000, 400'000, 3, 262'144, 262'143, 262'145}) {
    writer.add_uint64(1, random() >> (random() % 64));
    writer.add_fixed64(2, random());
    writer.add_bytes(3, std::string(size, static_cast<char>('a' + size % 26)));
    writer.add_fixed32(4, static_cast<uint32_t>(random()));
  }
  for (int i = 0; i < 3'000; ++i) writer.add_bytes(5, std::string(random() % 60, 'z'));
  return bytes;
}

TEST(FieldStream, FieldsEqualThoseOfProtozero) {
  const std::string bytes = Message();
  bool damaged = false;
  const std::vector<Field> want = ByProtozero(bytes, &damaged);
  ASSERT_FALSE(damaged);
  EXPECT_TRUE(ByStream(ByteSource::OfBytes(bytes), &damaged) == want);
  EXPECT_FALSE(damaged);
}

TEST(FieldStream, SkippedFieldsAreNotRead) {
  const std::string bytes = Message();
  const ByteSource source = ByteSource::OfBytes(bytes);
  FieldStream stream(source, {0, source.size()});
  uint64_t next = 0;
  int fields = 0;
  for (; stream.Next(); ++fields) {
    EXPECT_EQ(stream.field_offset(), next);
    next = stream.Payload().end();
  }
  EXPECT_EQ(fields, 10 * 4 + 3'000);
  EXPECT_EQ(next, bytes.size());
}

TEST(FieldStream, CopiedFieldsAreUnchanged) {
  const std::string bytes = Message();
  const ByteSource source = ByteSource::OfBytes(bytes);
  FieldStream stream(source, {0, source.size()});
  std::vector<char> copy;
  while (stream.Next()) stream.AppendTo(copy);
  EXPECT_TRUE(std::string(copy.begin(), copy.end()) == bytes);
}

TEST(FieldStream, DamageStopsAtTheSameByteAsProtozero) {
  const std::string whole = Message().substr(400'000, 30'000);
  std::string small;
  protozero::pbf_writer writer(small);
  for (int i = 0; i < 40; ++i) {
    writer.add_uint64(1, uint64_t{1} << i);
    writer.add_bytes(2, std::string(static_cast<size_t>(i), 'b'));
    writer.add_fixed32(3, 7);
  }
  std::mt19937_64 random(5);
  for (int round = 0; round < 3'000; ++round) {
    std::string bytes = round % 2 == 0 ? small : whole.substr(0, 2'000);
    if (round % 3 == 0) bytes.resize(random() % bytes.size());
    for (int flip = 0; flip < 3 && !bytes.empty(); ++flip) {
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    }
    bool want_damaged = false;
    bool damaged = false;
    const std::vector<Field> want = ByProtozero(bytes, &want_damaged);
    const std::vector<Field> got = ByStream(ByteSource::OfBytes(bytes), &damaged);
    ASSERT_EQ(damaged, want_damaged) << round;
    ASSERT_TRUE(got == want) << round;
  }
}

}  // namespace
}  // namespace xlatrace::importers
