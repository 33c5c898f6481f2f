// What strangers chose, as it may stand in a mail of ours: quoted, short, and nothing a mail program makes a link of.

/** Long enough for any shop's name, too short for a message. In code points. */
const MAX_QUOTED_LENGTH = 60;

export function quote(text: string): string {
	const oneLine = text
		// Invisible ones may hide or turn around what stands beside them; what cannot be shown becomes a gap.
		.replace(/\p{Cf}/gu, "")
		.replace(/[\p{Cc}\p{Cs}\p{Co}\p{Cn}\p{Z}]+/gu, " ")
		.trim()
		// So that no name can end its own quotation.
		.replace(/["\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02]/gu, "'");
	return `"${unlink(shorten(oneLine))}"`;
}

function shorten(text: string): string {
	const characters = [...text];
	if (characters.length <= MAX_QUOTED_LENGTH) return text;
	return `${characters.slice(0, MAX_QUOTED_LENGTH).join("").trimEnd()}…`;
}

/** As people write addresses that nobody should click on: shop[.]example. A full stop before a space stays. */
function unlink(text: string): string {
	return text
		.replace(/:(?=\/\/)/g, "[:]")
		.replace(/[.\u3002\uff0e\uff61](?=[\p{L}\p{N}])/gu, "[.]")
		.replace(/@(?=\S)/g, "[at]");
}
