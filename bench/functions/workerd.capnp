# workerd as bench/functions/run.py starts it; the address is given on the command line.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "main", worker = (
    modules = [(name = "workerd_peer.mjs", esModule = embed "workerd_peer.mjs")],
    compatibilityDate = "2025-06-01",
    bindings = [(name = "LOADER", workerLoader = (id = "functions"))],
  ))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
