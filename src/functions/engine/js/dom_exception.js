// DOMException, with the codes of its old names.
'use strict';
(function (host) {
  const { asInterface } = host.global('support');
  const CODES = {
    IndexSizeError: 1,
    HierarchyRequestError: 3,
    WrongDocumentError: 4,
    InvalidCharacterError: 5,
    NoModificationAllowedError: 7,
    NotFoundError: 8,
    NotSupportedError: 9,
    InUseAttributeError: 10,
    InvalidStateError: 11,
    SyntaxError: 12,
    InvalidModificationError: 13,
    NamespaceError: 14,
    InvalidAccessError: 15,
    TypeMismatchError: 17,
    SecurityError: 18,
    NetworkError: 19,
    AbortError: 20,
    URLMismatchError: 21,
    QuotaExceededError: 22,
    TimeoutError: 23,
    InvalidNodeTypeError: 24,
    DataCloneError: 25,
  };
  // Their numbers count from 1; some belong to names that no longer exist.
  const CONSTANTS =
    'INDEX_SIZE_ERR DOMSTRING_SIZE_ERR HIERARCHY_REQUEST_ERR WRONG_DOCUMENT_ERR ' +
    'INVALID_CHARACTER_ERR NO_DATA_ALLOWED_ERR NO_MODIFICATION_ALLOWED_ERR NOT_FOUND_ERR ' +
    'NOT_SUPPORTED_ERR INUSE_ATTRIBUTE_ERR INVALID_STATE_ERR SYNTAX_ERR ' +
    'INVALID_MODIFICATION_ERR NAMESPACE_ERR INVALID_ACCESS_ERR VALIDATION_ERR TYPE_MISMATCH_ERR ' +
    'SECURITY_ERR NETWORK_ERR ABORT_ERR URL_MISMATCH_ERR QUOTA_EXCEEDED_ERR TIMEOUT_ERR ' +
    'INVALID_NODE_TYPE_ERR DATA_CLONE_ERR';

  class DOMException extends Error {
    #name;

    constructor(message = '', options = 'Error') {
      super(`${message}`);
      if (typeof options === 'object' && options !== null) {
        this.#name = 'name' in options ? `${options.name}` : 'Error';
        if ('cause' in options) {
          Object.defineProperty(this, 'cause', {
            value: options.cause,
            writable: true,
            configurable: true,
          });
        }
      } else {
        this.#name = `${options}`;
      }
    }

    get name() {
      return #name in this ? this.#name : 'DOMException';
    }

    get code() {
      return Object.hasOwn(CODES, this.#name) ? CODES[this.#name] : 0;
    }
  }

  const constants = {};
  CONSTANTS.split(' ').forEach((name, i) => {
    constants[name] = { value: i + 1, enumerable: true };
  });
  Object.defineProperties(DOMException, constants);
  Object.defineProperties(DOMException.prototype, constants);
  return asInterface(DOMException);
})
