// Parses JSON from outside without throwing.

/**
 * Parses JSON. Returns undefined if it is not valid. It does not throw, because the parser's message would
 * quote the text.
 */
export function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

export function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
