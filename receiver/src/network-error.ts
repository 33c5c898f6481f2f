// Finds the part of a connection error that may be reported.

/**
 * Returns the error's code (ECONNREFUSED, ENOTFOUND, …). The message is not used, because it may quote the
 * request.
 */
export function findErrorCode(error: unknown): string | undefined {
	// If several addresses were tried, the error of the first one is used.
	const inner: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
	for (const one of [error, error instanceof Error ? error.cause : undefined, inner]) {
		const code = typeof one === "object" && one !== null && "code" in one ? one.code : undefined;
		if (typeof code === "string" && /^\w{1,64}$/.test(code)) return code;
	}
	return undefined;
}
