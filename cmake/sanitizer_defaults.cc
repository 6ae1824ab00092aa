// What the sanitizers would otherwise be told through environment variables.

extern "C" {

const char* __asan_default_options() {
  return "detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1";
}

const char* __ubsan_default_options() { return "print_stacktrace=1"; }

const char* __tsan_default_options() { return "halt_on_error=1:second_deadlock_stack=1"; }

// Debian's RocksDB is not built with TSan, so TSan sees its memory being freed but not the atomics
// that order it. Our own code that RocksDB calls (memtable, file system) stays checked.
const char* __tsan_default_suppressions() {
  return "race:rocksdb::Version::Unref\n"
         "race:rocksdb::SuperVersion\n"
         "race:rocksdb::Version::~Version\n";
}

}  // extern "C"
