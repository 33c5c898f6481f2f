// What proxies, routers and frameworks make of a path and its query string, and what people sign in their place.

import { type DamageRule, when } from "./damage.ts";

export function splitTarget(target: string): { path: string; query: string } {
	const at = target.indexOf("?");
	return at < 0 ? { path: target, query: "" } : { path: target.slice(0, at), query: target.slice(at) };
}

const USE_RAW_TARGET =
	"Check the signature with the path and query of the request as it reached your first server, or with those of the Postback URL.";

export const PATH_RULES: readonly DamageRule[] = [
	{
		cause: "whole-url",
		find: (signed, seen) =>
			when(/^https?:\/\//i.test(signed) && signed.replace(/^https?:\/\/[^/]*/i, "") === seen),
		callback: () => "We signed the whole URL.",
		request: () =>
			"The signature was computed over the whole URL. Use path and query alone, without scheme, host and port.",
	},
	{
		cause: "no-first-slash",
		find: (signed, seen) => when(isWithoutSlash(signed, seen) || isWithoutSlash(seen, signed)),
		callback: () => `The slash at the beginning of the path is missing. ${USE_RAW_TARGET}`,
		request: () =>
			"The signature was computed over a path without its first slash. The path begins with a slash.",
	},
	{
		cause: "slash-added",
		find: (signed, seen) => when(`${signed}/` === seen),
		callback: () =>
			`The path has a slash at its end that we did not send: a proxy or your router added it. ${USE_RAW_TARGET} Or save the Postback URL with the slash.`,
		request: () =>
			"The signature was computed over the path without the slash at its end. Sign it as it is sent: with the slash.",
	},
	{
		cause: "slash-removed",
		find: (signed, seen) => when(signed === `${seen}/`),
		callback: () =>
			`The slash at the end of the path is missing: a proxy or your router removed it. ${USE_RAW_TARGET} Or save the Postback URL without the slash.`,
		request: () =>
			"The signature was computed over the path with a slash at its end. Sign it as it is sent: without the slash.",
	},
	{
		cause: "slashes-merged",
		find: (signed, seen) => when(mergeSlashes(signed) === mergeSlashes(seen)),
		callback: () =>
			`Slashes that follow each other were merged into one: some proxies do (nginx: merge_slashes). ${USE_RAW_TARGET}`,
		request: () =>
			"The signature was computed over a path with another number of slashes in a row. Sign it as it is sent.",
	},
	{
		cause: "path-encoding",
		find: (signed, seen) => when(decode(signed) === decode(seen)),
		callback: () =>
			`The path was percent-decoded or written in another encoding on its way. ${USE_RAW_TARGET} Most frameworks have it as the raw URL or request URI.`,
		request: () =>
			"The signature was computed over the path in another percent-encoding. Sign it percent-encoded, exactly as it is sent.",
	},
	{
		cause: "prefix-stripped",
		find: (signed, seen) =>
			when(seen.length > 1 && seen.startsWith("/") && signed.endsWith(seen), signed.slice(0, -seen.length)),
		callback: (prefix) =>
			`The beginning ${prefix} of the path is missing: a proxy or the place where your app is mounted strips it. ${USE_RAW_TARGET} In Express that is req.originalUrl, not req.url.`,
		request: (prefix) =>
			`The signature was computed over a path that begins with ${prefix}, but the request goes without it. Sign the path as it is sent.`,
	},
	{
		cause: "prefix-added",
		find: (signed, seen) =>
			when(
				signed.length > 1 && signed.startsWith("/") && seen.endsWith(signed),
				seen.slice(0, -signed.length),
			),
		callback: (prefix) =>
			`The path begins with ${prefix}, which we did not send: a proxy or gateway puts it in front (often the name of a stage or an app). ${USE_RAW_TARGET}`,
		request: (prefix) =>
			`The signature was computed over a path without its beginning ${prefix}. Sign the whole path as it is sent.`,
	},
	{
		cause: "path-case",
		find: (signed, seen) => when(signed.toLowerCase() === seen.toLowerCase()),
		callback: () =>
			`Letters of the path changed between upper and lower case on their way. ${USE_RAW_TARGET}`,
		request: () =>
			"The signature was computed over a path with other upper and lower case letters. Sign it as it is sent.",
	},
	{
		cause: "path-rewritten",
		find: (_, seen) => when(seen === "/" || /\.(?:php|cgi|aspx?|jsp)$/i.test(seen), seen),
		callback: (seen) =>
			`Your web server rewrites the path to ${seen} before your code sees it. ${USE_RAW_TARGET} In PHP that is $_SERVER['REQUEST_URI'].`,
		request: () => "The signature was computed over another path than the one the request goes to.",
	},
	{
		cause: "another-path",
		find: (signed) => signed,
		callback: (signed) =>
			`The callback went to ${signed}: another path than the one you pasted. If you changed the Postback URL, check callbacks sent before with the earlier path; otherwise a proxy rewrites it. ${USE_RAW_TARGET}`,
		request: (signed) =>
			`The signature was computed over the path ${signed}, which is not the one the request goes to. Sign the path as it is sent.`,
	},
];

export const QUERY_RULES: readonly DamageRule[] = [
	{
		cause: "query-dropped",
		find: (signed, seen) => when(signed !== "" && seen === "", signed),
		callback: (signed) =>
			`The query string ${signed} is missing. A proxy dropped it, or your code takes the path alone. It is signed with the path: check the signature with ${signed} behind the path.`,
		request: (signed) =>
			`The signature was computed with the query string ${signed}, but the request goes without it.`,
	},
	{
		cause: "query-added",
		find: (signed, seen) => when(signed === "" && seen !== "", seen),
		callback: (seen) => `The query string ${seen} was added on the way: we sent none. ${USE_RAW_TARGET}`,
		request: () => "The query string was not signed. Sign it too: everything from the first / up to the end.",
	},
	{
		cause: "query-html-escaped",
		find: (signed, seen) => when(unescapeAmpersands(signed) === unescapeAmpersands(seen)),
		callback: () => "Each & of the query string became &amp;: it went through HTML. Use the raw URL.",
		request: () => "Each & of the query string was signed as &amp;. Sign the URL as it is sent.",
	},
	{
		cause: "query-reordered",
		find: (signed, seen) => when(sorted(parameters(signed)) === sorted(parameters(seen))),
		callback: () =>
			`The parameters of the query string arrived in another order: something reads them and writes them again. ${USE_RAW_TARGET}`,
		request: () =>
			"The parameters of the query string were signed in another order. Sign the query string as it is sent.",
	},
	{
		cause: "query-space",
		find: (signed, seen) => when(signed.replaceAll("+", "%20") === seen.replaceAll("+", "%20")),
		callback: () =>
			`A space in the query string changed between + and %20: something reads it and writes it again. ${USE_RAW_TARGET}`,
		request: () =>
			"A space in the query string was signed in another spelling (+ or %20) than it is sent. Sign what is sent.",
	},
	{
		cause: "query-encoding",
		find: (signed, seen) => when(decode(signed) === decode(seen)),
		callback: () =>
			`The query string was percent-decoded or written in another encoding on its way. ${USE_RAW_TARGET}`,
		request: () =>
			"The query string was signed in another percent-encoding. Sign it percent-encoded, exactly as it is sent.",
	},
	{
		cause: "parameter-removed",
		find: (signed, seen) => {
			const missing = without(parameters(signed), parameters(seen));
			return when(
				missing.length > 0 && without(parameters(seen), parameters(signed)).length === 0,
				missing.join("&"),
			);
		},
		callback: (missing) =>
			`${missing} is missing from the query string: a proxy or a firewall removed it. ${USE_RAW_TARGET}`,
		request: (missing) =>
			`The signature was computed with ${missing} in the query string, which is not sent.`,
	},
	{
		cause: "parameter-added",
		find: (signed, seen) => {
			const added = without(parameters(seen), parameters(signed));
			return when(
				added.length > 0 && without(parameters(signed), parameters(seen)).length === 0,
				added.join("&"),
			);
		},
		callback: (added) =>
			`${added} in the query string was added on the way: we did not send it. ${USE_RAW_TARGET}`,
		request: (added) =>
			`${added} in the query string was not signed. Sign the whole query string as it is sent.`,
	},
	{
		cause: "another-query",
		find: (signed) => signed,
		callback: (signed) =>
			`We sent the query string ${signed}. If you changed the Postback URL, check callbacks sent before with the earlier one; otherwise a proxy rewrites it. ${USE_RAW_TARGET}`,
		request: (signed) =>
			`The signature was computed with the query string ${signed}. Sign the one that is sent.`,
	},
];

/** A lone "%": nothing was encoded. */
export function decode(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

function isWithoutSlash(path: string, whole: string): boolean {
	return !path.startsWith("/") && `/${path}` === whole;
}

function mergeSlashes(path: string): string {
	return path.replace(/\/{2,}/g, "/");
}

function unescapeAmpersands(query: string): string {
	return query.replaceAll("&amp;", "&");
}

function parameters(query: string): string[] {
	return query.slice(1).split("&");
}

function sorted(list: readonly string[]): string {
	return list.toSorted().join("&");
}

/** Each as often as it comes more in `list` than in `others`. */
function without(list: readonly string[], others: readonly string[]): string[] {
	const left = new Map<string, number>();
	for (const other of others) left.set(other, (left.get(other) ?? 0) + 1);
	return list.filter((item) => {
		const count = left.get(item) ?? 0;
		left.set(item, count - 1);
		return count <= 0;
	});
}
