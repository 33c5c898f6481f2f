// Parses the address of the service, which is scheme, host and port without a path. A path is refused,
// because the signature covers the path as the service sees it.

export type ParsedOrigin =
	| { readonly ok: true; readonly origin: string }
	| { readonly ok: false; readonly problem: "not_an_address" | "more_than_an_address" };

export function parseOrigin(text: unknown): ParsedOrigin {
	const url = parseUrl(text);
	if (url === undefined || !/^https?:$/.test(url.protocol)) return { ok: false, problem: "not_an_address" };
	if (url.href !== `${url.origin}/`) return { ok: false, problem: "more_than_an_address" };
	return { ok: true, origin: url.origin };
}

/** Parses a URL. Returns undefined if the value is not one. */
export function parseUrl(text: unknown): URL | undefined {
	try {
		return new URL(String(text));
	} catch {
		// The original error is not used, because its message would quote the value.
		return undefined;
	}
}
