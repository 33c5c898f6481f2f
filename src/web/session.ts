// The first thing on every page: the cookie becomes a visitor, and, if its session is good, a viewer.

import type { MiddlewareHandler } from "hono";
import { getCookie } from "hono/cookie";
import { readTrouble } from "../callbacks/failure-notices.ts";
import { findClientAddress } from "../domain/client-address.ts";
import { readArrival, type Warning } from "../domain/warning.ts";
import type { Visitor } from "../people/auth.ts";
import { deviceCookieName } from "../people/signed-cookies.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { troubleBanner } from "./conversion-ui.ts";
import type { DocumentProgramme, Viewer } from "./document.ts";
import {
	createFlashCookie,
	createFormGuard,
	loadViewer,
	may,
	type WebContext,
	type WebDeps,
	type WebEnv,
} from "./page.ts";

/** Longer ones are of no use on the list of sessions. */
const MAX_USER_AGENT_LENGTH = 300;

export function openSession(deps: WebDeps): MiddlewareHandler<WebEnv> {
	const formGuard = createFormGuard(deps);
	const flashCookie = createFlashCookie(deps);
	return async (c, next) => {
		c.set("network", await deps.network.read());
		const visitor = readVisitor(c, deps);
		c.set("visitor", visitor);
		c.set("formGuard", formGuard);
		c.set("flashCookie", flashCookie);
		c.set("allowsPrivateRanges", deps.allowsPrivateRanges);
		c.set("readFrame", (programme) => readFrame(deps, programme, may(c, "integrate")));
		const found = await deps.auth.findSession(visitor);
		const viewer = found === null ? null : await loadViewer(deps, found.session);
		c.set("viewer", viewer);
		c.set("warnings", viewer === null ? [] : watchArrival(c, deps, viewer));
		c.set("sessionId", viewer === null ? null : (found?.session.id ?? null));
		if (found !== null && viewer !== null) {
			formGuard.bindToSession(c, found.session.token);
			// A session in use lasts longer. Before the page's own cookies, so that signing out has the last word.
			handOnCookies(c, found.setCookies);
		}
		return next();
	};
}

/** Its name, and whether its callbacks are failing or held. */
async function readFrame(
	{ store, clock, installation }: WebDeps,
	programme: Programme,
	mayIntegrate: boolean,
): Promise<DocumentProgramme> {
	const { public_id: publicId, name, endpoint_id: endpointId } = programme;
	const nowMs = clock.nowMs();
	const trouble = await readTrouble(store.db, programme, nowMs);
	return {
		publicId,
		name,
		trouble: troubleBanner(trouble, publicId, { nowMs, mayIntegrate }),
		// Without a URL nothing would be sent anyway.
		pausedSinceMs: endpointId === null ? null : installation.pausedSinceMs(),
	};
}

/** What staff are to be told on this page. */
function watchArrival(c: WebContext, { installation }: WebDeps, viewer: Viewer): readonly Warning[] {
	if (viewer.kind !== "staff") return [];
	const arrival = readArrival((name) => c.req.header(name), c.env?.incoming?.socket?.remoteAddress);
	installation.note(arrival);
	return installation.warningsFor(arrival);
}

export function handOnCookies(c: WebContext, setCookies: readonly string[]): void {
	for (const cookie of setCookies) c.header("set-cookie", cookie, { append: true });
}

function readVisitor(c: WebContext, { trustedProxies, publicUrl }: WebDeps): Visitor {
	const socketAddress = c.env?.incoming?.socket?.remoteAddress;
	return {
		cookies: c.req.header("cookie") ?? "",
		address: findClientAddress(socketAddress, c.req.header("x-forwarded-for"), trustedProxies),
		userAgent: (c.req.header("user-agent") ?? "").slice(0, MAX_USER_AGENT_LENGTH),
		device: getCookie(c, deviceCookieName(publicUrl)) ?? "",
	};
}
