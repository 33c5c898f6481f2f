// Finds what may be reported about a failed connection.

/** Returns only the code (ECONNREFUSED, ENOTFOUND, …), because an error's message may quote what was sent. */
export function findErrorCode(error: unknown): string | undefined {
	// If several addresses were tried, the first one counts.
	const inner: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
	for (const one of [error, error instanceof Error ? error.cause : undefined, inner]) {
		const code = typeof one === "object" && one !== null && "code" in one ? one.code : undefined;
		if (typeof code === "string" && /^\w{1,64}$/.test(code)) return code;
	}
	return undefined;
}
