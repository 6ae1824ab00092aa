// What the sanitizers would otherwise be told through environment variables.

extern "C" {

const char* __asan_default_options() {
  return "detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1";
}

const char* __ubsan_default_options() { return "print_stacktrace=1"; }

const char* __tsan_default_options() { return "halt_on_error=1:second_deadlock_stack=1"; }

// RocksDB is not instrumented: ThreadSanitizer sees it compare and free memory, but not the atomic
// reference counts that order the two. So what happens inside a RocksDB function is not judged,
// which includes our code where RocksDB calls it; that code has tests of its own that call it
// directly.
const char* __tsan_default_suppressions() { return "race:^rocksdb::\n"; }

// RocksDB forgets the memtable that it has just made if its manifest cannot be written.
const char* __lsan_default_suppressions() { return "leak:rocksdb::DBImpl::SwitchMemtable\n"; }

}  // extern "C"
