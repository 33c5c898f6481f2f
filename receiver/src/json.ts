// JSON of unknown origin, read without throwing.

/** Undefined where it is no JSON, which no JSON is. The parser's own message would quote the text. */
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
