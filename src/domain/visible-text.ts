// Text for people's eyes: what leaves no mark on a page is written out, so that two texts that look the same do not.

/**
 * Control and format characters, other spaces than the plain one, line separators, the blank Braille pattern, half
 * characters; and a plain space only at an end, where it cannot be seen.
 */
const UNSEEN =
	/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{2800}]|(?! )\p{Zs}|^ +| +$/gu;

/** "A-1" with a no-break space before it becomes "[U+00A0]A-1". For showing alone, never to be stored or compared. */
export function showUnseen(text: string): string {
	return text.replace(UNSEEN, (run) =>
		Array.from(run, (character) => `[${codePointOf(character)}]`).join(""),
	);
}

/** As Unicode's own tables name it, so that a developer can look for it: U+00A0. */
export function codePointOf(character: string): string {
	return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
