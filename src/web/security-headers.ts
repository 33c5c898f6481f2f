// What browsers may do with a page: run our own scripts and styles, talk to us, and nothing else.

import type { MiddlewareHandler } from "hono";
import type { WebEnv } from "./env.ts";

const HEADERS = {
	"content-security-policy":
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	// Links hold tokens now and then: no other site gets to see where people came from.
	"referrer-policy": "same-origin",
	"x-content-type-options": "nosniff",
	"cross-origin-opener-policy": "same-origin",
};

export const securePages: MiddlewareHandler<WebEnv> = async (c, next) => {
	await next();
	for (const [name, value] of Object.entries(HEADERS)) c.res.headers.set(name, value);
	// Assets say for themselves how long they keep.
	if (!c.res.headers.has("cache-control")) c.res.headers.set("cache-control", "no-store");
};
