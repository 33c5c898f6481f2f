// The service's address: scheme, host and port, with nothing after them, for the path is signed as the service
// sees it.

export type ParsedOrigin =
	| { readonly ok: true; readonly origin: string }
	| { readonly ok: false; readonly problem: "not_an_address" | "more_than_an_address" };

export function parseOrigin(text: unknown): ParsedOrigin {
	const url = parseUrl(text);
	if (url === undefined || !/^https?:$/.test(url.protocol)) return { ok: false, problem: "not_an_address" };
	if (url.href !== `${url.origin}/`) return { ok: false, problem: "more_than_an_address" };
	return { ok: true, origin: url.origin };
}

/** Undefined where it is none. */
export function parseUrl(text: unknown): URL | undefined {
	try {
		return new URL(String(text));
	} catch {
		// The message would quote what was given.
		return undefined;
	}
}
