// Makes text from outside safe for a terminal. An order id may contain characters that reverse a line, hide a
// part of it or move the cursor. Such characters are shown as their code.

// Matches control and format characters (bidirectional and zero width), surrogates, private and unassigned
// characters, and separators except the plain space.
const odd = /[\p{C}\p{Zl}\p{Zp}\u{115F}\u{1160}\u{3164}\u{FFA0}]|(?! )\p{Zs}/gu;

export function showPlainly(text: string): string {
	return text.replace(odd, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Returns the JSON value on one line. Unsafe characters are written as JSON escapes. */
export function writePlainJson(value: unknown): string {
	return JSON.stringify(value).replace(odd, escapeUnits);
}

function escapeUnits(character: string): string {
	let escaped = "";
	for (let at = 0; at < character.length; at++) {
		escaped += `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`;
	}
	return escaped;
}
