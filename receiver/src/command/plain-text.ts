// Text from elsewhere made fit for a terminal: an order id may hold anything, also what turns a line round, hides a
// part of it or moves the cursor. Such characters are shown by their number.

// Controls, formats (bidi and zero width), surrogates, private and unassigned ones, separators but the plain space.
const odd = /[\p{C}\p{Zl}\p{Zp}\u{115F}\u{1160}\u{3164}\u{FFA0}]|(?! )\p{Zs}/gu;

export function showPlainly(text: string): string {
	return text.replace(odd, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** The same JSON value in one line, with every odd character as an escape of JSON's own. */
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
