// A signed request as somebody pastes it, out of a log, a debugger or a terminal: headers in whatever form the program
// printed them, a path or a whole URL.

import type { HeaderNames } from "../domain/signature.ts";

export interface PastedRequest {
	method: string;
	/** Path and query, or a whole URL. */
	target: string;
	headers: string;
	body: string;
}

/** The parts of contract section 5, and the signature over them. A header that is not there is empty. */
export interface SignedParts {
	method: string;
	/** Path and query. */
	target: string;
	timestamp: string;
	nonce: string;
	body: string;
	signature: string;
}

export interface SeenRequest extends SignedParts {
	event: string;
	authorization: string;
}

export type Direction =
	/** Ours, to the shop. */
	| "callback"
	/** The shop's, to us. */
	| "request";

export function readPasted(
	{ method, target, headers, body }: PastedRequest,
	names: HeaderNames,
): SeenRequest {
	const requestLine = /^([A-Za-z]+)\s+(\S+)(?:\s+HTTP\/[\d.]+)?$/.exec(target.trim());
	return {
		method: (requestLine?.[1] ?? method).trim(),
		target: withoutOrigin(requestLine?.[2] ?? target.trim()),
		timestamp: headerIn(headers, names.timestamp),
		nonce: headerIn(headers, names.nonce),
		signature: headerIn(headers, names.signature),
		event: headerIn(headers, names.event),
		authorization: headerIn(headers, "Authorization"),
		// A browser sends every line break of a text field as CRLF; what was pasted had the plain one far more often.
		body: body.replaceAll("\r\n", "\n"),
	};
}

/** `callbackTargets`: path and query of the Postback URLs that are known. */
export function directionOf(
	{ event, authorization, target }: SeenRequest,
	callbackTargets: readonly string[],
): Direction {
	if (event !== "") return "callback";
	if (authorization !== "") return "request";
	return target.startsWith("/v1/") && !callbackTargets.includes(target) ? "request" : "callback";
}

function withoutOrigin(target: string): string {
	const path = target.replace(/^https?:\/\/[^/?#]*/i, "").replace(/#.*$/s, "");
	return path.startsWith("?") || path === "" ? `/${path}` : path;
}

/** `Name: value`, also as curl, JSON, PHP (HTTP_X_SERVICE_NONCE), Python or Ruby write it. */
function headerIn(text: string, name: string): string {
	const spelled = name.replaceAll("-", "[-_]");
	const found = new RegExp(`(^|[^\\w-])(?:HTTP_)?${spelled}(["'\\]]?)\\s*(?:=>|[:=])`, "im").exec(text);
	if (found === null) return "";
	const [start, before = "", after = ""] = found;
	const rest = text.slice(found.index + start.length);
	if (after === '"' || after === "'") {
		// A program that quotes the name has quoted the value, too: that is no part of it.
		const value = /^\s*\[?\s*(?:"([^"]*)"|'([^']*)'|([\w.-]+))/.exec(rest);
		return (value?.[1] ?? value?.[2] ?? value?.[3] ?? "").trim();
	}
	// curl has quotation marks around both: -H 'Name: value' \
	const end = before === '"' || before === "'" ? before : /[\r\n]/;
	return (rest.split(end, 1)[0] ?? "").trim();
}
