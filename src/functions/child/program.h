#pragma once

namespace cairn::functions {

// `cairn sandbox`: the process from which children are forked. Not for people: it is started by the
// server, with the socket it takes orders from as descriptor 3.
//
// Operation: leaves the machine's namespaces, starts the engine once, and for each Fork message
// forks a child that enters the sandbox and takes work from the socket that came along. Tells the
// server, over the same socket, that the child is there and later how it ended. Ends when the
// server closes its socket, and its children with it.
//
// Returns the exit code of the program.
int RunSandboxProgram();

}  // namespace cairn::functions
