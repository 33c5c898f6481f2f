// A signed request as somebody pastes it, out of a log, a debugger or a terminal: headers in whatever form the program
// printed them, a path or a whole URL. Every step is linear in what was pasted.

import { readJson } from "./json.ts";
import type { HeaderNames } from "./signature.ts";

export interface PastedRequest {
	method: string;
	/** Path and query, or a whole URL. */
	target: string;
	/** One header a line, or the JSON of them. */
	headers: string;
	body: string;
}

export interface ReadRequest {
	method: string;
	/** Path and query. */
	target: string;
	/** By their names in lower case. */
	headers: ReadonlyMap<string, string>;
	body: string;
}

/** More than any server takes. */
const MAX_HEADER_LINES = 200;

export function readPasted(pasted: PastedRequest): ReadRequest {
	const requestLine = /^([A-Za-z]+)\s+(\S+)(?:\s+HTTP\/[\d.]+)?$/.exec(pasted.target.trim());
	return {
		method: (requestLine?.[1] ?? pasted.method).trim(),
		target: withoutOrigin(requestLine?.[2] ?? pasted.target.trim()),
		headers: readHeaders(pasted.headers),
		// A browser sends every line break of a text field as CRLF; what was pasted had the plain one far more often.
		body: pasted.body.replaceAll("\r\n", "\n"),
	};
}

function withoutOrigin(target: string): string {
	const path = target.replace(/^https?:\/\/[^/?#]*/i, "").replace(/#.*$/s, "");
	return path.startsWith("?") || path === "" ? `/${path}` : path;
}

function readHeaders(text: string): Map<string, string> {
	const headers = new Map<string, string>();
	const add = (name: string, value: string) => {
		const key = plainName(name);
		const before = headers.get(key);
		// What HTTP makes of a header that comes twice.
		headers.set(key, before === undefined ? value : `${before}, ${value}`);
	};
	const json = readJson(text);
	if (typeof json === "object" && json !== null) {
		for (const [name, value] of Object.entries(json)) {
			const single = Array.isArray(value) && value.length === 1 ? value[0] : value;
			if (typeof single === "string" || typeof single === "number") add(name, String(single).trim());
		}
		return headers;
	}
	for (const line of text.split("\n", MAX_HEADER_LINES)) {
		const header = readLine(line);
		if (header !== null) add(header.name, header.value);
	}
	return headers;
}

/** `Name: value`, also as curl, PHP, Python or Ruby write it. */
function readLine(line: string): { name: string; value: string } | null {
	const bare = unwrap(line.trim().replace(/^(?:[<>*] |-H |--header )/, ""));
	const match = /^([["']?)([A-Za-z0-9_.-]+)[\]"']?\s*(?:=>|:|=)/.exec(bare);
	if (match?.[1] === undefined || match[2] === undefined) return null;
	const value = bare.slice(match[0].length).trim();
	// A program that quotes the name has quoted the value, too: that is no part of it.
	const isListing = match[1] === '"' || match[1] === "'";
	return { name: match[2], value: isListing ? unquote(value.replace(/,$/, "")) : value };
}

/** curl -H 'Name: value' \ */
function unwrap(line: string): string {
	const text = line.endsWith("\\") ? line.slice(0, -1).trimEnd() : line;
	const quote = text.at(0);
	const isWrapped = (quote === "'" || quote === '"') && text.length > 1 && text.endsWith(quote);
	return isWrapped && !text.slice(1, -1).includes(quote) ? text.slice(1, -1) : text;
}

export function unquote(text: string): string {
	const list = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text;
	const quote = list.at(0);
	const isQuoted = (quote === '"' || quote === "'") && list.length > 1 && list.endsWith(quote);
	return isQuoted ? list.slice(1, -1) : list;
}

/** PHP, Ruby and CGI write HTTP_X_SERVICE_NONCE. */
function plainName(name: string): string {
	const lower = name.toLowerCase();
	return lower.startsWith("http_") ? lower.slice("http_".length).replaceAll("_", "-") : lower;
}

export type Direction =
	/** Ours, to the shop. */
	| "callback"
	/** The shop's, to us. */
	| "request";

/** `callbackTargets`: path and query of every Postback URL that is known. */
export function directionOf(
	{ headers, target }: ReadRequest,
	names: HeaderNames,
	callbackTargets: readonly string[],
): Direction {
	if (headers.has(names.event.toLowerCase())) return "callback";
	if (headers.has("authorization")) return "request";
	return target.startsWith("/v1/") && !callbackTargets.includes(target) ? "request" : "callback";
}
