// structuredClone: the engine copies, this checks arguments and names the error.
'use strict';
(function (host) {
  // How SpiderMonkey words a value that has no copy. Anything else that is thrown comes from a getter
  // of the value and is passed on.
  const NOT_CLONABLE = /^(unsupported type for structured data|The object could not be cloned)/;

  function structuredClone(value, options) {
    if (arguments.length === 0) throw new TypeError('structuredClone: 1 argument required');
    const transfer = options?.transfer === undefined ? [] : [...options.transfer];
    try {
      return host.structuredClone(value, transfer);
    } catch (error) {
      if (error?.name !== 'DataCloneError' && !NOT_CLONABLE.test(error?.message)) throw error;
      const DOMException = host.global('DOMException');
      throw new DOMException('structuredClone: the value cannot be cloned', 'DataCloneError');
    }
  }
  return structuredClone;
})
