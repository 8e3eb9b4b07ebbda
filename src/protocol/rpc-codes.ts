/** JSON-RPC error codes that more than one place recognizes. */

export const methodNotFound = -32_601;
/** Of the 2026-07-28 revision; the error's data lists the supported versions. */
export const unsupportedVersion = -32_022;
