// Parses JSON of unknown origin without throwing.

/** Returns undefined for invalid JSON. It does not throw, because the parser's message quotes the text. */
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
