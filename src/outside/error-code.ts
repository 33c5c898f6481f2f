// The one word of an error that is kept: the code of the system or of a library. It is stored with an attempt.

/** Longer than any code Node, OpenSSL, c-ares or undici has; a code is a column of every attempt. */
const MAX_CODE_LENGTH = 64;

export function readErrorCode(error: unknown): string {
	if (typeof error === "object" && error !== null && "code" in error && typeof error.code === "string") {
		return error.code.slice(0, MAX_CODE_LENGTH);
	}
	return "UNKNOWN";
}
