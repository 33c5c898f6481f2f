// The request of an attempt as people read it and send it again: as HTTP writes it, and as a command.

import type { SentRequest } from "../../domain/sent-request.ts";
import { quote } from "../../domain/shell-words.ts";

/** As HTTP writes it, to be read and to be pasted into “Check a signature”. */
export function requestText({ url, headers, body }: SentRequest): string {
	const { pathname, search, host } = new URL(url);
	const lines = headers.map(([name, value]) => `${name}: ${value}`);
	return [`POST ${pathname}${search} HTTP/1.1`, `Host: ${host}`, ...lines, "", body].join("\n");
}

export function curlCommand({ url, headers, body }: SentRequest): string {
	const lines = headers.map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
	return [`curl -i -X POST ${quote(url)}`, ...lines, `--data-binary ${quote(body)}`].join(" \\\n  ");
}
