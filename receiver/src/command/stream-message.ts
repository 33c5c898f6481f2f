// Server-sent events out of the bytes of a stream, as far as the service uses them: its lines end in a
// single line feed (WHATWG HTML, section 9.2).

export type StreamMessage = {
	/** Empty when only the cursor was told. */
	readonly event: string;
	readonly data: string;
	/** How the service signed it, as JSON; undefined where it did not. */
	readonly signed: string | undefined;
	/** Where to go on behind this message; undefined where it does not say. */
	readonly id: string | undefined;
};

/** The longest of ours is a few kilobytes; whatever sends more is no Ringback. */
const maxMessageCharacters = 1_048_576;

export class MessageTooLongError extends Error {}

/** Takes pieces as they come, cut anywhere; gives the messages that are complete. */
export function createMessageReader(): (bytes: Uint8Array) => StreamMessage[] {
	const decoder = new TextDecoder();
	let rest = "";
	return (bytes) => {
		rest += decoder.decode(bytes, { stream: true });
		const blocks = rest.split("\n\n");
		rest = blocks.pop() ?? "";
		if (rest.length > maxMessageCharacters) throw new MessageTooLongError("a message without an end");
		return blocks.flatMap(readBlock);
	};
}

function readBlock(block: string): StreamMessage[] {
	let event = "";
	let id: string | undefined;
	let signed: string | undefined;
	const data: string[] = [];
	for (const line of block.split("\n")) {
		const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
		if (name === "event") event = value;
		if (name === "id") id = value;
		if (name === "signed") signed = value;
		if (name === "data") data.push(value);
	}
	return event === "" && id === undefined ? [] : [{ event, id, signed, data: data.join("\n") }];
}
