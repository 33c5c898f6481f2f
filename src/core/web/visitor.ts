// Reads from a request who the visitor is: their cookies, their address, and the client id for admission.

import { getCookie } from "hono/cookie";
import { blockOf, findClientAddress } from "../domain/client-address.ts";
import { readArrival } from "../domain/warning.ts";
import { SESSION_COOKIE, type Visitor } from "../people/auth.ts";
import { deviceCookieName } from "../people/device-cookie.ts";
import { readTokenCookie } from "../people/signed-cookies.ts";
import type { WebContext, WebDeps } from "./page.ts";

/** Maximum length of a stored User-Agent. This is enough to tell browsers apart in the list of sessions. */
const MAX_USER_AGENT_LENGTH = 300;

export function readVisitor(c: WebContext, { trustedProxies, publicUrl }: WebDeps): Visitor {
	const socketAddress = c.env?.incoming?.socket?.remoteAddress;
	return {
		cookies: c.req.header("cookie") ?? "",
		address: findClientAddress(socketAddress, c.req.header("x-forwarded-for"), trustedProxies),
		userAgent: (c.req.header("user-agent") ?? "").slice(0, MAX_USER_AGENT_LENGTH),
		device: getCookie(c, deviceCookieName(publicUrl)) ?? "",
	};
}

/**
 * Returns the client id for concurrency/admission.ts, which is the session if there is one, and the visitor's address
 * block otherwise.
 */
export function clientOf(visitor: Visitor, deps: WebDeps): string {
	return (
		readTokenCookie(deps, SESSION_COOKIE, visitor.cookies) ?? blockOf(visitor.address) ?? visitor.address
	);
}

/**
 * Returns the headers that show how the request reached the service. The warnings about proxies need them.
 */
export function arrivalOf(c: WebContext) {
	return readArrival((name) => c.req.header(name), c.env?.incoming?.socket?.remoteAddress);
}
