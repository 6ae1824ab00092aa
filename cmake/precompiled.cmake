# Precompiled headers: two for the whole build, shared by all targets. They hold only headers of
# other projects, so they can neither hide a forbidden include nor go stale when ours change.
# `make lint` parses every file without them, so a missing #include is still found.

set(standard_headers
    <algorithm> <array> <atomic> <chrono> <condition_variable> <cstddef> <cstdint> <cstring>
    <deque> <filesystem> <fstream> <functional> <map> <memory> <mutex> <optional> <random> <set>
    <span> <sstream> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector>
    <fmt/format.h>)
set(asio_headers
    <boost/asio/awaitable.hpp> <boost/asio/bind_executor.hpp> <boost/asio/buffer.hpp>
    <boost/asio/co_spawn.hpp> <boost/asio/detached.hpp> <boost/asio/io_context.hpp>
    <boost/asio/ip/tcp.hpp> <boost/asio/post.hpp> <boost/asio/read.hpp>
    <boost/asio/redirect_error.hpp> <boost/asio/signal_set.hpp> <boost/asio/ssl.hpp>
    <boost/asio/steady_timer.hpp> <boost/asio/use_awaitable.hpp> <boost/asio/write.hpp>
    <boost/beast/core.hpp> <boost/beast/http.hpp> <boost/beast/websocket.hpp>)
set(libraries fmt::fmt)
# In builds that have tests, one header serves tests and code alike.
if(CMAKE_BUILD_TYPE MATCHES "^(Asan|Tsan|Debug)$")
  list(APPEND standard_headers <gmock/gmock.h> <gtest/gtest.h>)
  list(APPEND libraries GTest::gmock)
  # GTest defines this for who links it; the shared header needs it defined everywhere or nowhere.
  target_compile_definitions(cairn_options INTERFACE GTEST_HAS_PTHREAD=1)
endif()

# Folders whose sources mostly reach Asio, directly or through headers of net.
set(CAIRN_ASIO_FOLDERS net doors house data jobs seats functions view admin app)

function(cairn_add_precompiled name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;LIBRARIES")
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cc CONTENT "// Owns a precompiled header.\n")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE cairn_options ${arg_LIBRARIES})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

if(NOT CMAKE_BUILD_TYPE MATCHES "^(Fuzz|Lint)$")
  cairn_add_precompiled(cairn_pch_standard HEADERS ${standard_headers} LIBRARIES ${libraries})
  cairn_add_precompiled(cairn_pch_asio HEADERS ${standard_headers} ${asio_headers}
                        LIBRARIES ${libraries} third_asio)
endif()

# Lets `target`, whose sources belong to `folder`, start from the precompiled header that suits it.
function(cairn_precompile target folder)
  cairn_top_of(${folder} top)
  set(sees_net OFF)
  if(folder STREQUAL net OR net IN_LIST CAIRN_MAY_INCLUDE_${folder})
    set(sees_net ON)
  endif()
  if(sees_net AND top IN_LIST CAIRN_ASIO_FOLDERS AND TARGET cairn_pch_asio)
    target_precompile_headers(${target} REUSE_FROM cairn_pch_asio)
  elseif(TARGET cairn_pch_standard)
    target_precompile_headers(${target} REUSE_FROM cairn_pch_standard)
  endif()
endfunction()
