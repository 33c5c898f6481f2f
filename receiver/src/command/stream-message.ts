// Parses the part of server-sent events that the service uses. Lines of the service end with a single line
// feed (WHATWG HTML, section 9.2).

export type StreamMessage = {
	/** Name of the event, or an empty text if the message contains only a cursor. */
	readonly event: string;
	readonly data: string;
	/** The service's signature as JSON, or undefined if there is none. */
	readonly signed: string | undefined;
	/** Cursor after this message, or undefined if the message has none. */
	readonly id: string | undefined;
};

/** Maximum length of a message. The longest real one has a few kilobytes. */
const maxMessageCharacters = 1_048_576;

export class MessageTooLongError extends Error {}

/**
 * Returns a function that accepts chunks, which may be cut anywhere, and returns the messages that are
 * complete.
 */
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
