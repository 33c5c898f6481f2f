// Parses JSON without throwing, and finds keys that occur twice in one object. For a repeated key, JSON.parse
// silently takes the last value and other parsers take the first, so nobody could know which value the sender
// meant.

/** An open object with its keys so far, or an open array, which has no keys. */
interface Level {
	keys: Set<string> | null;
	/** True if the next string in an object is a key and not a value. */
	isAtKey: boolean;
}

const TOKEN = /["{}[\],]/g;
/** Matches a JSON string up to its closing quote, including escaped characters. */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/sy;

export function readJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

/**
 * Returns the first key that occurs twice in one object, at any depth and with its escapes decoded, or
 * undefined if there is none. The text must be valid JSON. It is read once and without recursion, so time and
 * memory stay linear however deeply it is nested.
 */
export function findRepeatedKey(json: string): string | undefined {
	const open: Level[] = [];
	for (let at = 0; ; ) {
		TOKEN.lastIndex = at;
		const token = TOKEN.exec(json);
		if (token === null) return undefined;
		at = token.index + 1;
		const level = open.at(-1);
		switch (token[0]) {
			case "{":
				open.push({ keys: new Set(), isAtKey: true });
				break;
			case "[":
				open.push({ keys: null, isAtKey: false });
				break;
			case "}":
			case "]":
				open.pop();
				break;
			case ",":
				if (level !== undefined) level.isAtKey = level.keys !== null;
				break;
			default: {
				STRING.lastIndex = token.index;
				const literal = STRING.exec(json)?.[0] ?? "";
				at = token.index + literal.length;
				if (level === undefined || level.keys === null || !level.isAtKey) break;
				const key = String(JSON.parse(literal));
				if (level.keys.has(key)) return key;
				level.keys.add(key);
				level.isAtKey = false;
			}
		}
	}
}
