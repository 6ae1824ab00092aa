// The bodies of Asio and Beast, compiled once. Every other file sees only their declarations, which
// halves what it costs to include them (BOOST_ASIO_SEPARATE_COMPILATION, set by the build).

#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
