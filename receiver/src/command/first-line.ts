// Reads the first line of a receiver's answer, which usually gives the reason for a refusal. The line is only
// displayed, so size and time are limited.

import type { IncomingMessage } from "node:http";

/** Maximum number of bytes to read, enough for a sentence. */
const enoughBytes = 2_048;
const mostCharacters = 200;
/**
 * Time limit for the body. The receiver runs on this machine, so the body follows the status at once or
 * never.
 */
const patienceMs = 500;

/** Reads the first line of the answer. Returns an empty text if there is none. */
export function readFirstLine(response: IncomingMessage): Promise<string> {
	return new Promise((resolve) => {
		const chunks: Buffer[] = [];
		let bytes = 0;
		const end = (): void => {
			clearTimeout(timer);
			resolve(firstLineOf(Buffer.concat(chunks).toString("utf8")));
		};
		const timer = setTimeout(end, patienceMs);
		response.on("data", (chunk: Buffer) => {
			chunks.push(chunk);
			bytes += chunk.byteLength;
			if (bytes >= enoughBytes) end();
		});
		// The answer may break off before the end of the line.
		response.once("end", end).once("error", end).once("close", end);
	});
}

function firstLineOf(text: string): string {
	const [line = ""] = text.trimStart().split(/[\r\n]/, 1);
	const characters = [...line.trimEnd()];
	return characters.length > mostCharacters
		? `${characters.slice(0, mostCharacters).join("")}…`
		: characters.join("");
}
