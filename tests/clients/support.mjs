// What the tests of the npm packages share. Each is run as `node NAME.mjs HOST:PORT`.
import { createRequire } from 'node:module';

const [host, port] = (process.argv[2] ?? '127.0.0.1:6379').split(':');
export const address = { host, port: Number(port) };

const packages = new URL('../../build-npm/', import.meta.url);
const require = createRequire(packages);

/** A package that scripts/npm_test_packages.sh has installed. */
export function load(name) {
  try {
    return require(name);
  } catch (error) {
    throw new Error(`${name} is not there; run scripts/npm_test_packages.sh`, { cause: error });
  }
}

const LIMIT_MS = 60_000;

/** Calls `look` again and again until it returns something true. */
export async function eventually(look) {
  const deadline = performance.now() + LIMIT_MS;
  while (!(await look())) {
    if (performance.now() > deadline) throw new Error(`waited in vain for ${look}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
