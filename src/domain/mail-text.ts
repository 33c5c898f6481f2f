// What strangers chose, as it may stand in a mail of ours: quoted, short, and nothing a mail program makes a link of.
// And the lines that say which network the mail comes from.

/** Long enough for any shop's name, too short for a message. In code points. */
const MAX_QUOTED_LENGTH = 60;

/** Who writes a mail. */
export interface Network {
	/** What it calls itself; null where nobody has chosen anything. */
	name: string | null;
	supportAddress: string | null;
	publicUrl: string;
}

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

/** Around every mail: a reader must be able to tell who writes to them, and check it. */
export function withSender(text: string, network: Network): string {
	return [text, "", "--", ...sayWhoSends(network), ""].join("\n");
}

function sayWhoSends({ name, supportAddress, publicUrl }: Network): string[] {
	const sender = `This mail was sent by the affiliate network ${name ?? new URL(publicUrl).host} at ${publicUrl}`;
	return supportAddress === null ? [sender] : [sender, `Questions? Write to ${supportAddress}`];
}
