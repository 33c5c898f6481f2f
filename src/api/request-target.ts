// The request target as the caller wrote and signed it. The URL of the Request object will not do: building it
// resolves dots and re-encodes characters, and a signature over the other spelling would not match.

import type { AppContext, AppEnv } from "./deps.ts";

export function requestTarget(c: AppContext): string {
	const bindings: AppEnv["Bindings"] | undefined = c.env;
	const onTheWire = bindings?.incoming?.url;
	if (onTheWire !== undefined) return withoutOrigin(onTheWire);
	const { pathname, search } = new URL(c.req.url);
	return pathname + search;
}

export function targetQuery(target: string): URLSearchParams {
	const start = target.indexOf("?");
	return new URLSearchParams(start === -1 ? "" : target.slice(start + 1));
}

/** A proxy may send the absolute form (RFC 9112, section 3.2.2); what is signed is path and query alone. */
function withoutOrigin(target: string): string {
	return target.replace(/^https?:\/\/[^/?]*/i, "");
}
