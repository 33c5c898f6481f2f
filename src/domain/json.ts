// JSON text: read without throwing, and whether it names the same key twice in one object. JSON.parse keeps the last
// and drops the others without a word, and another parser keeps the first: which one the sender meant is a guess.

/** Its keys so far, while an object is open; an array has none. */
interface Level {
	keys: Set<string> | null;
	/** In an object: the next string is a key and not a value. */
	isAtKey: boolean;
}

const TOKEN = /["{}[\],]/g;
/** To the closing quote; what a backslash escapes is passed over. */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/sy;

/** Undefined for what is no JSON. */
export function readJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

/**
 * The first key that comes again at whatever depth, as it reads without escapes, or undefined. The text must be
 * valid JSON. One pass without recursion: time and memory follow the length of the text, however deep it nests.
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
