// The first line of what a receiver answers: its own reason for a refusal. The status is the answer; this is only
// shown, so it is bounded in bytes and in time.

import type { IncomingMessage } from "node:http";

/** A sentence is within this; a whole page is not wanted. */
const enoughBytes = 2_048;
const mostCharacters = 200;
/** It is on this machine and follows the status at once, or never. */
const patienceMs = 500;

/** Empty where there is none. */
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
		// One that breaks off has said what it has said.
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
