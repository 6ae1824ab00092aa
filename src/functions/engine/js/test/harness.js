// What test files use. Plain script, so that it runs in any realm.
'use strict';
globalThis.harness = {
  tests: [],

  // Runs all tests: {passed, failures: [text]}. For engines without run.mjs.
  async runAll() {
    let passed = 0;
    const failures = [];
    for (const { name, run } of harness.tests) {
      try {
        await run();
        passed++;
      } catch (error) {
        failures.push(`${name}: ${error?.name}: ${error?.message}\n${error?.stack}`);
      }
    }
    return { passed, failures };
  },
};

globalThis.test = (name, run) => {
  harness.tests.push({ name, run: async () => run() });
};

globalThis.check = (() => {
  const show = (value) => {
    try {
      const text = typeof value === 'string' ? JSON.stringify(value) : String(JSON.stringify(value) ?? String(value));
      return text.length > 400 ? `${text.slice(0, 400)}…` : text;
    } catch {
      return Object.prototype.toString.call(value);
    }
  };
  const isObject = (value) => typeof value === 'object' && value !== null;

  function same(a, b) {
    if (Object.is(a, b)) return true;
    if (!isObject(a) || !isObject(b)) return false;
    const [tag, other] = [a, b].map((value) => Object.prototype.toString.call(value));
    if (tag !== other) return false;
    if (a instanceof Map || a instanceof Set) return same([...a], [...b]);
    if (a instanceof Date) return a.getTime() === b.getTime();
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
  }

  function fail(text) {
    throw new Error(text);
  }

  function expectError(error, name, pattern) {
    if (error?.name !== name) fail(`threw ${error?.name}: ${error?.message}, not ${name}`);
    if (pattern && !pattern.test(error.message)) fail(`the message is ${show(error.message)}, not ${pattern}`);
    return error;
  }

  return {
    ok(value, what = 'the value') {
      if (!value) fail(`${what} is ${show(value)}`);
    },
    equal(actual, expected) {
      if (!same(actual, expected)) fail(`got ${show(actual)}, expected ${show(expected)}`);
    },
    match(text, pattern) {
      if (!pattern.test(text)) fail(`${show(text)} does not match ${pattern}`);
    },
    throws(run, name, pattern) {
      let value;
      try {
        value = run();
      } catch (error) {
        return expectError(error, name, pattern);
      }
      return fail(`gave ${show(value)} and threw no ${name}`);
    },
    async rejects(promise, name, pattern) {
      let value;
      try {
        value = await promise;
      } catch (error) {
        return expectError(error, name, pattern);
      }
      return fail(`gave ${show(value)} and was not rejected with ${name}`);
    },
  };
})();
