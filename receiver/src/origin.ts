// Parses the service's address: scheme, host and port without a path, because the path is signed as the
// service sees it.

export type ParsedOrigin =
	| { readonly ok: true; readonly origin: string }
	| { readonly ok: false; readonly problem: "not_an_address" | "more_than_an_address" };

export function parseOrigin(text: unknown): ParsedOrigin {
	const url = parseUrl(text);
	if (url === undefined || !/^https?:$/.test(url.protocol)) return { ok: false, problem: "not_an_address" };
	if (url.href !== `${url.origin}/`) return { ok: false, problem: "more_than_an_address" };
	return { ok: true, origin: url.origin };
}

/** Returns undefined if the value is not a URL. */
export function parseUrl(text: unknown): URL | undefined {
	try {
		return new URL(String(text));
	} catch {
		// The original message would quote the value.
		return undefined;
	}
}
