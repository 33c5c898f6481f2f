// Prepares text that strangers chose for a mail: quoted, short, and without anything that a mail program
// turns into a link.

/** Maximum length in code points: enough for any shop's name, too short for a message. */
const MAX_QUOTED_LENGTH = 60;

export function quote(text: string): string {
	const oneLine = text
		// Invisible characters could hide or reverse the text beside them. Unprintable ones become a space.
		.replace(/\p{Cf}/gu, "")
		.replace(/[\p{Cc}\p{Cs}\p{Co}\p{Cn}\p{Z}]+/gu, " ")
		.trim()
		// A name must not be able to end its own quotation.
		.replace(/["\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02]/gu, "'");
	return `"${unlink(shorten(oneLine))}"`;
}

function shorten(text: string): string {
	const characters = [...text];
	if (characters.length <= MAX_QUOTED_LENGTH) return text;
	return `${characters.slice(0, MAX_QUOTED_LENGTH).join("").trimEnd()}…`;
}

/** Writes addresses so that nobody clicks on them: shop[.]example. A full stop before a space stays. */
function unlink(text: string): string {
	return text
		.replace(/:(?=\/\/)/g, "[:]")
		.replace(/[.\u3002\uff0e\uff61](?=[\p{L}\p{N}])/gu, "[.]")
		.replace(/@(?=\S)/g, "[at]");
}
