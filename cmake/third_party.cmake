# The libraries Cairn is built on, all from the distribution's packages (scripts/packages.txt).
# Headers under /usr/include are system headers to the compiler, so they raise no warnings of ours.

find_package(Threads REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(CLI11 REQUIRED)
set(Boost_USE_STATIC_LIBS ON)
find_package(Boost 1.81 REQUIRED COMPONENTS json CONFIG)

# An imported target for a static library that ships no CMake file of its own.
function(cairn_static_library name)
  find_library(CAIRN_LIB_${name} NAMES lib${name}.a REQUIRED)
  add_library(third_${name} STATIC IMPORTED)
  set_target_properties(third_${name} PROPERTIES IMPORTED_LOCATION ${CAIRN_LIB_${name}})
endfunction()

# By library, because the package's own CMake file asks for curl and civetweb, which we do not use.
find_library(CAIRN_LIB_prometheus prometheus-cpp-core REQUIRED)
add_library(third_prometheus UNKNOWN IMPORTED)
set_target_properties(third_prometheus PROPERTIES IMPORTED_LOCATION ${CAIRN_LIB_prometheus})

# RocksDB is linked statically: calls into the shared library go through the procedure linkage
# table, and its thread-locals through a lookup, on every operation.
foreach(name rocksdb snappy lz4 zstd bz2 z)
  cairn_static_library(${name})
endforeach()
target_link_libraries(third_rocksdb INTERFACE third_snappy third_lz4 third_zstd third_bz2 third_z
                      Threads::Threads ${CMAKE_DL_LIBS})
# Its checksums, by the processor's instruction: src/store/rocks/crc32c.h.
target_link_options(third_rocksdb INTERFACE -Wl,--wrap=_ZN7rocksdb6crc32c6ExtendEjPKcm)

# libpq is linked dynamically: its static library would want Kerberos and LDAP.
find_path(CAIRN_INCLUDE_pq libpq-fe.h PATH_SUFFIXES postgresql REQUIRED)
find_library(CAIRN_LIB_pq pq REQUIRED)
add_library(third_pq UNKNOWN IMPORTED)
set_target_properties(third_pq PROPERTIES IMPORTED_LOCATION ${CAIRN_LIB_pq}
                      INTERFACE_INCLUDE_DIRECTORIES ${CAIRN_INCLUDE_pq})

# Asio and Beast. Their bodies are compiled once, in src/net/boost_impl.cc, except for fuzzers,
# which are built from single sources.
add_library(third_asio INTERFACE)
target_link_libraries(third_asio INTERFACE Boost::headers OpenSSL::SSL OpenSSL::Crypto
                      Threads::Threads)
target_compile_definitions(third_asio INTERFACE BOOST_ASIO_NO_DEPRECATED)
if(NOT CMAKE_BUILD_TYPE STREQUAL Fuzz)
  target_compile_definitions(third_asio INTERFACE BOOST_ASIO_SEPARATE_COMPILATION
                             BOOST_BEAST_SEPARATE_COMPILATION)
endif()

# The allocator of the shipped binary. Sanitizers bring their own.
add_library(third_malloc INTERFACE)
if(CMAKE_BUILD_TYPE STREQUAL Release)
  cairn_static_library(jemalloc_pic)
  target_link_libraries(third_malloc INTERFACE third_jemalloc_pic Threads::Threads ${CMAKE_DL_LIBS})
endif()

# The C client, for tests/clients alone.
if(CMAKE_BUILD_TYPE MATCHES "^(Asan|Tsan|Debug|Lint)$")
  find_library(CAIRN_LIB_hiredis hiredis REQUIRED)
  set(CAIRN_LINKS_tests_clients ${CAIRN_LIB_hiredis})
endif()
# Lua for scripts, statically.
cairn_static_library(luajit-5.1)
target_link_libraries(third_luajit-5.1 INTERFACE m ${CMAKE_DL_LIBS})

# Regular expressions in JSONPath filters, statically.
cairn_static_library(re2)
target_link_libraries(third_re2 INTERFACE Threads::Threads)

# Outgoing HTTP.
find_package(CURL REQUIRED)

# Time zones of schedules, from the system's zone files; Debian has no static library of it. The
# definitions are those it was built with: they decide how its types are laid out.
find_library(CAIRN_LIB_tz date-tz REQUIRED)
add_library(third_tz UNKNOWN IMPORTED)
set_target_properties(third_tz PROPERTIES IMPORTED_LOCATION ${CAIRN_LIB_tz}
                      INTERFACE_COMPILE_DEFINITIONS "USE_OS_TZDB=1;ONLY_C_LOCALE=1;HAS_STRING_VIEW=1")

# SQL for the search view, statically.
cairn_static_library(sqlite3)
target_link_libraries(third_sqlite3 INTERFACE m Threads::Threads ${CMAKE_DL_LIBS})

# The JavaScript engine. Its headers are seen by functions/engine alone.
find_package(PkgConfig REQUIRED)
pkg_check_modules(mozjs REQUIRED IMPORTED_TARGET mozjs-102)
pkg_check_modules(icu_uc REQUIRED IMPORTED_TARGET icu-uc)
add_library(third_mozjs INTERFACE)
# Beside its own headers lie those of the ICU inside of it, which is of another version than the ICU
# that we link. Ours are to be found first.
find_path(CAIRN_INCLUDE_icu unicode/uidna.h REQUIRED)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include/icu)
file(CREATE_LINK ${CAIRN_INCLUDE_icu}/unicode ${CMAKE_BINARY_DIR}/include/icu/unicode SYMBOLIC)
target_include_directories(third_mozjs SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/include/icu)
target_link_libraries(third_mozjs INTERFACE PkgConfig::mozjs PkgConfig::icu_uc)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # Roots on the stack are in a list as long as they live; g++ 12 does not see them leave it.
  target_compile_options(third_mozjs INTERFACE -Wno-dangling-pointer)
endif()

cairn_static_library(seccomp)

include(cadence_api)

# What each folder under src links besides the folders below it.
set(CAIRN_LINKS_base fmt::fmt spdlog::spdlog Boost::json OpenSSL::Crypto)
set(CAIRN_LINKS_store third_rocksdb third_pq)
set(CAIRN_LINKS_net third_asio)
set(CAIRN_LINKS_outside CURL::libcurl)
set(CAIRN_LINKS_doors third_prometheus)
set(CAIRN_LINKS_data third_luajit-5.1 third_re2)
set(CAIRN_LINKS_jobs OpenSSL::Crypto third_tz)
set(CAIRN_LINKS_functions OpenSSL::Crypto)
set(CAIRN_LINKS_functions/engine third_mozjs)
set(CAIRN_LINKS_functions/child third_seccomp)
set(CAIRN_LINKS_functions/cadence third_cadence_api)
set(CAIRN_LINKS_view third_sqlite3)
set(CAIRN_LINKS_admin third_prometheus)
set(CAIRN_LINKS_app CLI11::CLI11 tomlplusplus::tomlplusplus third_prometheus cairn_version)
