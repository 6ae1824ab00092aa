# Test programs, as CTest sees them. Labels: unit, blackbox, tsan, fuzz, and postgres and
# postgres-portable for those that run on these engines.

include(GoogleTest)
enable_testing()
if(CMAKE_BUILD_TYPE MATCHES "^(Asan|Tsan|Debug|Lint)$")
  find_package(GTest REQUIRED)
endif()

# The include path behind #include "tests/...", for tests and benchmarks.
set(CAIRN_TESTS_ROOT ${CMAKE_BINARY_DIR}/include/test_support)
file(MAKE_DIRECTORY ${CAIRN_TESTS_ROOT})
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/tests ${CAIRN_TESTS_ROOT}/tests SYMBOLIC)

# The test programs worth their time under ThreadSanitizer: folders of src, and folders of tests.
set(CAIRN_TSAN_TESTS store net doors view)
# Those that are built when they are asked for (`make tsan`): they need the whole server, which is
# more than half as much again to compile.
set(CAIRN_TSAN_TESTS_ASKED_FOR concurrency)

# Sanitizer settings are compiled in, so that a program behaves the same under ctest and by hand.
if(CMAKE_BUILD_TYPE MATCHES "^(Asan|Tsan)$")
  add_library(cairn_sanitizer_defaults OBJECT ${CMAKE_SOURCE_DIR}/cmake/sanitizer_defaults.cc)
endif()
function(cairn_sanitizer_defaults target)
  if(TARGET cairn_sanitizer_defaults)
    target_link_libraries(${target} PRIVATE cairn_sanitizer_defaults)
  endif()
endfunction()

# Hands each test of `program` to CTest. Tests are listed when ctest runs, not while building.
function(cairn_register_tests program)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT_SECONDS;DIRECTORY;BINARY" "")
  set(prefix "")
  if(CMAKE_BUILD_TYPE STREQUAL Tsan)
    set(arg_LABEL tsan)
    set(prefix tsan.)  # the same tests run under ASan; the names must differ
  endif()
  set(environment "")
  if(arg_BINARY)
    set(environment ENVIRONMENT CAIRN_BINARY=${arg_BINARY})
  endif()
  gtest_discover_tests(${program}
    TEST_PREFIX "${prefix}" DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    WORKING_DIRECTORY ${arg_DIRECTORY}
    PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT_SECONDS} ${environment})
endfunction()

# The suites that run on the other engines too, by folder: those of the contract, those of the engine,
# and of what stands above as much as shows that it cannot tell the engines apart. All of them pass
# there (CAIRN_TEST_ENGINE=postgres build-asan/data_test); these are worth their time in every run.
set(CAIRN_SUITES_ON_postgres_store
    StoreTest.*:Seeds/*:SerializabilityTest.*:TimerServiceTest.*:Postgres*-Seeds/TinyCache*)
set(CAIRN_SUITES_ON_postgres-portable_store
    StoreTest.*:Seeds/*:SerializabilityTest.*:PostgresTimersTest.*-Seeds/TinyCache*)
set(CAIRN_SUITES_ON_postgres_doors DispatcherTest.*)
set(CAIRN_SUITES_ON_postgres_data
    HashCommandsTest.*:ListCommandsTest.*:TransactionsTest.*:TransactionsRaceTest.*:TrackingOnASharedStoreTest.*)
set(CAIRN_SUITES_ON_postgres_seats *)
set(CAIRN_SUITES_ON_postgres_actors *)
set(CAIRN_SUITES_ON_postgres_jobs *)
set(CAIRN_SUITES_ON_postgres_view View*)
set(CAIRN_SUITES_ON_postgres_functions
    Codeq*:Faults/*:ControlTest.*:AliasTest.*:ControlRoutesTest.*:ControlCommandsTest.*:Seeds/FunctionModelTest.*:SchedulesTest.*:ScheduleModelTest.*)
# Of the folders of tests, by program: what stands differently on a node without a data directory.
set(CAIRN_SUITES_ON_postgres_tests_crash ViewCrashTest.*)
set(CAIRN_SUITES_ON_postgres_tests_functions
    FunctionsTest.*:KillsTest.*:FunctionCommandsTest.*:FunctionsBadInputTest.*:SchedulesTest.*:WarmTest.*:GatewayTest.*)

# Hands `program` to CTest once more for each other engine, as one test: its tests then share a
# PostgreSQL cluster, which takes longer to start than most of them to run. DIRECTORY and BINARY are
# those of cairn_register_tests.
function(cairn_register_on_other_engines program folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "DIRECTORY;BINARY" "")
  foreach(engine postgres postgres-portable)
    if(NOT DEFINED CAIRN_SUITES_ON_${engine}_${folder})
      continue()
    endif()
    set(name ${program}.${engine})
    add_test(NAME ${name}
             COMMAND ${program} --gtest_brief=1
                     --gtest_filter=${CAIRN_SUITES_ON_${engine}_${folder}}
             WORKING_DIRECTORY ${arg_DIRECTORY})
    set(environment CAIRN_TEST_ENGINE=${engine})
    if(arg_BINARY)
      list(APPEND environment CAIRN_BINARY=${arg_BINARY})
    endif()
    set_tests_properties(${name} PROPERTIES LABELS ${engine} TIMEOUT 600
                         ENVIRONMENT "${environment}")
  endforeach()
endfunction()

# The library `cairn_<folder>_testing`, of what stands under src/<folder>/testing, for the tests of
# the folder and of those above it.
function(cairn_add_test_helpers folder)
  cairn_group_sources(cairn_${folder}_testing sources ${ARGN})
  add_library(cairn_${folder}_testing STATIC EXCLUDE_FROM_ALL ${sources})
  cairn_compile_as(cairn_${folder}_testing ${folder})
  target_link_libraries(cairn_${folder}_testing PUBLIC cairn_${folder} cairn_test_support
                        GTest::gmock)
endfunction()

# The program `<folder>_test`, of the x_test.cc files of one folder under src. It sees what its
# folder sees, plus tests/support.
function(cairn_add_unit_test folder)
  if(CMAKE_BUILD_TYPE STREQUAL Tsan AND NOT folder IN_LIST CAIRN_TSAN_TESTS)
    return()
  endif()
  set(program ${folder}_test)
  cairn_group_sources(${program} sources ${ARGN})
  add_executable(${program} ${sources})
  cairn_compile_as(${program} ${folder})
  foreach(name ${folder} ${CAIRN_MAY_INCLUDE_${folder}})
    if(TARGET cairn_${name}_testing)
      target_link_libraries(${program} PRIVATE cairn_${name}_testing)
    endif()
  endforeach()
  target_link_libraries(${program} PRIVATE cairn_${folder} cairn_test_support GTest::gmock_main)
  cairn_sanitizer_defaults(${program})
  cairn_register_tests(${program} LABEL unit TIMEOUT_SECONDS 180 DIRECTORY ${CMAKE_BINARY_DIR})
  if(NOT CMAKE_BUILD_TYPE STREQUAL Tsan)
    cairn_register_on_other_engines(${program} ${folder} DIRECTORY ${CMAKE_BINARY_DIR})
  endif()
endfunction()
