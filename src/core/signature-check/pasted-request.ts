// Reads a signed request as people paste it from a log, a debugger or a terminal.

import { canonicalString, type HeaderNames, sha256Hex } from "../domain/signature.ts";

export interface PastedRequest {
	method: string;
	target: string;
	headers: string;
	body: string;
}

/** The parts of a request that are signed (contract section 5). A missing header is the empty string. */
export interface SignedParts {
	method: string;
	target: string;
	timestamp: string;
	nonce: string;
	body: string;
}

export interface ReadRequest extends SignedParts {
	signature: string;
	/** Value of the event header, which only callbacks have. */
	event: string;
	apiKey: string;
}

export function readPasted(pasted: PastedRequest, names: HeaderNames): ReadRequest {
	const target = pasted.target.trim();
	const [, method = pasted.method, path = target] = /^([A-Za-z]+)\s+(\S+)/.exec(target) ?? [];
	return {
		method: method.trim(),
		target: path
			.replace(/^https?:\/\/[^/?#]*/i, "")
			.replace(/#.*$/s, "")
			.replace(/^(?!\/)/, "/"),
		timestamp: findHeader(pasted.headers, names.timestamp),
		nonce: findHeader(pasted.headers, names.nonce),
		signature: findHeader(pasted.headers, names.signature),
		event: findHeader(pasted.headers, names.event),
		apiKey: /\bBearer\s+([^\s"']+)/i.exec(pasted.headers)?.[1] ?? "",
		// Browsers send each line break of a text field as CRLF, but the pasted request usually had LF.
		body: pasted.body.replaceAll("\r\n", "\n"),
	};
}

export function canonicalOf({ method, target, timestamp, nonce, body }: SignedParts): string {
	return canonicalString(method, target, timestamp, nonce, sha256Hex(body));
}

/**
 * Finds the value of a header in lines such as `Name: value`. It also reads the notations of curl, JSON, PHP
 * (HTTP_X_SERVICE_NONCE), Python and Ruby.
 */
function findHeader(text: string, name: string): string {
	const spelling = name.replaceAll("-", "[-_]");
	const pattern = `(?<![\\w-])(?:HTTP_)?${spelling}["'\\]]?[ \\t]*(?:=>|[:=])[ \\t]*(?:\\[\\s*)?["']?([^\\s"',\\]]*)`;
	return new RegExp(pattern, "i").exec(text)?.[1] ?? "";
}
