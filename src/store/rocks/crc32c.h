#pragma once

#include <cstddef>
#include <cstdint>

namespace cairn::store::rocks {

// The checksum of RocksDB's log, by the processor's own instruction.
//
// Debian builds RocksDB for processors without SSE 4.2, so its crc32c::Extend goes through tables:
// a byte a cycle, for every byte of every commit. The linker sends RocksDB's calls of that function
// here instead (--wrap, cmake/third_party.cmake). Same polynomial, same results; where the
// processor lacks the instruction, RocksDB's own code runs as before.
//
// The checksum of `data` appended to bytes whose checksum is `crc`. Thread-safe.
uint32_t ExtendCrc32c(uint32_t crc, const char* data, size_t size);

// Whether this processor has the instruction.
bool HasCrc32cInstruction();

}  // namespace cairn::store::rocks
