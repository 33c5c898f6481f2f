// Text as people look for it: "STRASSE", "straße" and "Strasse" are one word to them, and so are "Müller" however it
// was typed and "Muller" on a keyboard without the dots.

/**
 * For comparing alone, never to be shown. Capitals, because small letters depend on their place in a word (a Greek
 * sigma at its end is another one).
 */
export function foldText(text: string): string {
	return text.normalize("NFKD").replace(/\p{M}/gu, "").toUpperCase();
}
