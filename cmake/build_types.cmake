# The build types, and how every target of ours is compiled and linked.
#
#   Release  what is shipped and measured
#   Asan     AddressSanitizer and UndefinedBehaviorSanitizer; all tests
#   Tsan     ThreadSanitizer; the tests of the folders with concurrency, and the server if asked for
#   Fuzz     libFuzzer with ASan and UBSan; needs clang; only the *_fuzz.cc programs
#   Lint     configured only: its compile_commands.json is what clang-tidy reads; needs clang
#   Debug    no optimisation, for a debugger

set(build_types Release Asan Tsan Fuzz Lint Debug)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "One of: ${build_types}" FORCE)
endif()
if(NOT CMAKE_BUILD_TYPE IN_LIST build_types)
  message(FATAL_ERROR "CMAKE_BUILD_TYPE is ${CMAKE_BUILD_TYPE}; it must be one of: ${build_types}")
endif()

set(debuggable "-g1 -fno-omit-frame-pointer")
set(hardened "-D_FORTIFY_SOURCE=2 -fstack-protector-strong")
set(checked "-D_GLIBCXX_ASSERTIONS -fno-sanitize-recover=all -fno-optimize-sibling-calls")
# Null and misaligned accesses are left to the hardware: checking each one doubles what it costs to
# compile code that uses Asio.
set(address_and_undefined
    "-fsanitize=address,undefined -fno-sanitize=null,alignment,object-size")
set(CMAKE_CXX_FLAGS_RELEASE
    "-O2 -DNDEBUG ${debuggable} ${hardened} -ffunction-sections -fdata-sections")
set(CMAKE_CXX_FLAGS_ASAN "-O1 ${debuggable} ${checked} ${address_and_undefined}")
set(CMAKE_CXX_FLAGS_TSAN "-O1 ${debuggable} ${checked} -fsanitize=thread")
set(CMAKE_CXX_FLAGS_FUZZ
    "-O1 ${debuggable} ${checked} ${address_and_undefined} -fsanitize=fuzzer-no-link")
set(CMAKE_CXX_FLAGS_LINT "")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g -D_GLIBCXX_ASSERTIONS")
set(CMAKE_EXE_LINKER_FLAGS_RELEASE "-Wl,--gc-sections -Wl,-z,relro,-z,now")

option(CAIRN_LTO "Optimise across translation units (slow to link)" OFF)
set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ${CAIRN_LTO})

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# What every target of ours links, for its compile options.
add_library(cairn_options INTERFACE)
# Option structs are filled by name, so a field left to its default is no mistake.
target_compile_options(cairn_options INTERFACE -Wall -Wextra -Wpedantic -Werror
                       -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # Lets ccache look through a use of a precompiled header.
  target_compile_options(cairn_options INTERFACE -fpch-preprocess)
endif()
if(CMAKE_BUILD_TYPE STREQUAL Tsan)
  # Asio uses atomic_thread_fence, which TSan cannot follow and g++ warns about.
  target_compile_options(cairn_options INTERFACE -Wno-tsan)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # g++ 12 reports these falsely: the first in inlined library code, strings in variants or whatever
  # sanitizers rearrange; the second for the frame of a coroutine whose parameters are values.
  # clang-tidy looks for the real ones.
  target_compile_options(cairn_options INTERFACE -Wno-maybe-uninitialized
                         -Wno-mismatched-new-delete)
endif()

find_program(CAIRN_MOLD mold)
if(CAIRN_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Paths are hashed relative to the source directory, so that another clone hits the same cache.
# The sloppiness is what ccache needs to work beside precompiled headers.
find_program(CAIRN_CCACHE ccache)
if(CAIRN_CCACHE)
  set(sloppiness pch_defines,time_macros,include_file_mtime,include_file_ctime)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_ABSSTDERR=1
      CCACHE_SLOPPINESS=${sloppiness} ${CAIRN_CCACHE})
endif()
