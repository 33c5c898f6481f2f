// Reduces an error to the short code of the system or library that is stored with the attempt.

/** Maximum length of a stored code. All codes of Node, OpenSSL, c-ares and undici are shorter. */
const MAX_CODE_LENGTH = 64;

export function readErrorCode(error: unknown): string {
	if (typeof error === "object" && error !== null && "code" in error && typeof error.code === "string") {
		return error.code.slice(0, MAX_CODE_LENGTH);
	}
	return "UNKNOWN";
}
