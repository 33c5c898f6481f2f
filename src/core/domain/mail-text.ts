// Prepares text that strangers chose, such as names, for a mail. The result is quoted, short, and contains
// nothing that a mail program turns into a link.

/**
 * Maximum length of a quoted text in code points. It is enough for any shop's name, and too short for a
 * message.
 */
const MAX_QUOTED_LENGTH = 60;

export function quote(text: string): string {
	const oneLine = text
		// Invisible format characters could hide or reverse the text beside them, so they are removed. Control
		// characters become spaces.
		.replace(/\p{Cf}/gu, "")
		.replace(/[\p{Cc}\p{Cs}\p{Co}\p{Cn}\p{Z}]+/gu, " ")
		.trim()
		// Quotation marks are replaced, so that a name cannot end the quotation that contains it.
		.replace(/["\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02]/gu, "'");
	return `"${unlink(shorten(oneLine))}"`;
}

function shorten(text: string): string {
	const characters = [...text];
	if (characters.length <= MAX_QUOTED_LENGTH) return text;
	return `${characters.slice(0, MAX_QUOTED_LENGTH).join("").trimEnd()}…`;
}

/**
 * Rewrites addresses so that no mail program turns them into links: shop[.]example. A full stop before a
 * space is unchanged.
 */
function unlink(text: string): string {
	return text
		.replace(/:(?=\/\/)/g, "[:]")
		.replace(/[.\u3002\uff0e\uff61](?=[\p{L}\p{N}])/gu, "[.]")
		.replace(/@(?=\S)/g, "[at]");
}
