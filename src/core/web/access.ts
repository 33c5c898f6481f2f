// Makes the guards of a route, in this order: headers, session, address, permission, form. People of a shop may open
// their own programmes, people of a partner may open their own partner, and staff may open everything. If a person
// must not know that a page exists, the answer is the same 404 as for an unknown address. If only the person's role is
// too low, the page says so.

import type { MiddlewareHandler } from "hono";
import { readTrouble } from "../callbacks/failure-notices.ts";
import { grants, type Right } from "../domain/roles.ts";
import type { Warning } from "../domain/warning.ts";
import { recordOf } from "../request-notes.ts";
import { countFailed } from "../store/queries/delivery-health.ts";
import { findPartner } from "../store/queries/partners.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { findPartnerReceiver } from "../store/queries/receivers.ts";
import type { Partner } from "../store/tables/partners.ts";
import { troubleBanner } from "./conversion-ui.ts";
import type { Viewer } from "./document.ts";
import { answerError } from "./error-page.ts";
import { createFormGuards } from "./form-guards.ts";
import { countWaiting, type DocumentOwner, type DocumentPartner } from "./menu.ts";
import { inLanguage } from "./numbers.ts";
import {
	createFlashCookie,
	findProgrammeFor,
	handOnCookies,
	leadTo,
	loadViewer,
	may,
	type PageDeps,
	setFlash,
	viewerOf,
	type WebContext,
	type WebDeps,
	type WebEnv,
} from "./page.ts";
import {
	AUTHENTICATOR_PATH,
	deliveryPath,
	earningsPath,
	noticesPath,
	partnerCallbacksPath,
	partnerDeliveryPath,
	SIGN_IN_PATH,
	withNext,
} from "./paths.ts";
import type { Access, Route } from "./routes.ts";
import { arrivalOf, clientOf, readVisitor } from "./visitor.ts";

type Guard = MiddlewareHandler<WebEnv>;

export function createGuards(
	deps: PageDeps,
): (route: Pick<Route, "access" | "takesFile" | "waitsOutside">) => readonly Guard[] {
	const session = openSession(deps);
	const formGuardsOf = createFormGuards(deps);
	const signedIn = [requireSignIn, requireAuthenticator];
	const accessGuards: Readonly<Record<Access, readonly Guard[]>> = {
		anyone: [],
		"signed-in": signedIn,
		programme: [...signedIn, requireProgramme(deps, "look")],
		"programme-integrate": [...signedIn, requireProgramme(deps, "integrate")],
		"programme-decide": [...signedIn, requireProgramme(deps, "decide")],
		"programme-manage": [...signedIn, requireProgramme(deps, "manage")],
		partner: [...signedIn, requirePartner(deps)],
		"partner-manage": [...signedIn, requireStaff, requirePartner(deps)],
		staff: [...signedIn, requireStaff],
		"account-authenticator": [requireSignIn],
	};
	return (route) => [
		securePages,
		session,
		guardAddress,
		...accessGuards[route.access],
		...formGuardsOf(route),
	];
}

/**
 * Redirects a visitor who is not signed in to the sign-in page, which later leads back to the requested page. If the
 * visitor sent a form, it leads to the page that has the form.
 */
const requireSignIn: Guard = async (c, next) => {
	if (c.get("viewer") !== null) return next();
	const { pathname, search } = new URL(c.req.url);
	if (c.req.method !== "GET") {
		setFlash(c, "bad", "You were signed out, so nothing was saved. Sign in, and send the form again.");
	}
	return c.redirect(withNext(SIGN_IN_PATH, `${pathname}${search}`), 303);
};

/**
 * Redirects staff who still need an authenticator to the page that sets it up, whatever page they requested.
 */
const requireAuthenticator: Guard = async (c, next) =>
	viewerOf(c).awaitsAuthenticator ? c.redirect(AUTHENTICATOR_PATH, 303) : next();

const requireStaff: Guard = async (c, next) =>
	viewerOf(c).kind === "staff" ? next() : answerError(c, "not_found");

/**
 * Lets staff and the partner's own people open its pages. The pages stay open after all partnerships have
 * ended, because they still show the partner's earnings.
 */
function requirePartner({ store }: Pick<WebDeps, "store">): Guard {
	return async (c, next) => {
		const partnerId = c.req.param("partnerId") ?? "";
		const { kind, partners } = viewerOf(c);
		const partner =
			kind === "staff"
				? await findPartner(store.db, partnerId)
				: partners.find(({ public_id }) => public_id === partnerId);
		if (partner === undefined) return answerError(c, "not_found");
		c.set("partner", partner);
		if (partner.erased_at_ms !== null && c.req.method === "GET" && !SHOWN_OF_ERASED.test(c.req.path)) {
			const text = "This partner was erased, so this page has nothing to show.";
			return leadTo(c, earningsPath(partner.public_id), text, "info");
		}
		return next();
	};
}

/**
 * Matches the pages of an erased partner that can still be opened: its account, and the page that says when it was
 * erased.
 */
const SHOWN_OF_ERASED =
	/^\/partner\/[^/]+\/(?:earnings|conversions|statements|entries|personal-data)(?:\/|$)/;

function requireProgramme({ store }: Pick<WebDeps, "store">, right: Right): Guard {
	return async (c, next) => {
		const found = await findProgrammeFor(store.db, viewerOf(c), c.req.param("programmeId") ?? "");
		if (found === undefined) return answerError(c, "not_found");
		c.set("programme", found.programme);
		const record = recordOf(c);
		if (record !== undefined) record.programme = found.programme.public_id;
		c.set("standing", found.standing);
		return grants(found.standing, right) ? next() : answerError(c, "not_allowed");
	};
}

/**
 * Waits for admission before a page is rendered. `waitingPages` has the paths of pages that wait for another
 * machine, which must not take the places of other pages. A form waits for admission later, when its whole body has
 * arrived (form-guards.ts), so that a slow sender does not block other people.
 */
export function admitPages(deps: WebDeps, waitingPages: ReadonlySet<string>): Guard {
	return async (c, next) => {
		if (c.req.method !== "GET" && c.req.method !== "HEAD") return next();
		const requestClass = waitingPages.has(c.req.path) ? "outsideRequests" : "pages";
		const leave = await deps.admission.admit(requestClass, clientOf(readVisitor(c, deps), deps));
		if (leave !== undefined) return next().finally(leave);
		c.set("network", await deps.network.read());
		await securePages(c, async () => {
			c.res = await answerError(c, "busy");
		});
		return c.res;
	};
}

/**
 * Puts the data that every page needs into the context: the network, the visitor, and the signed-in person if the
 * session is valid.
 */
function openSession(deps: PageDeps): Guard {
	const flashCookie = createFlashCookie(deps);
	return async (c, next) => {
		c.set("network", await deps.network.read());
		const visitor = readVisitor(c, deps);
		c.set("menus", deps.menus);
		c.set("visitor", visitor);
		c.set("flashCookie", flashCookie);
		c.set("allowsPrivateRanges", deps.allowsPrivateRanges);
		c.set("readFrame", (programme) => readFrame(deps, programme, may(c, "integrate")));
		c.set("readPartnerFrame", (partner) => readPartnerFrame(deps, partner));
		const found = await deps.auth.findSession(visitor);
		const viewer = found === null ? null : await loadViewer(deps, found.session);
		c.set("viewer", viewer);
		c.set("warnings", viewer === null ? [] : watchArrival(c, deps, viewer));
		const staffLinks = viewer?.kind === "staff" ? deps.menus.staff : [];
		c.set("waiting", await countWaiting(staffLinks, ({ waiting }) => waiting?.count(deps.store.db)));
		c.set("sessionId", viewer === null ? null : (found?.session.id ?? null));
		if (found !== null && viewer !== null) {
			// The cookie of a renewed session is set before the page sets its own cookies. Otherwise a page that signs the
			// person out would be overridden.
			handOnCookies(c, found.setCookies);
		}
		// Pages for visitors who are not signed in may be cached and shown to others, so they are always in
		// English.
		const languages = viewer === null ? undefined : (viewer.locale ?? c.req.header("accept-language"));
		return inLanguage(languages, next);
	};
}

/** Returns the data for the header and navigation of a programme's pages. */
async function readFrame(
	{ store, clock, installation, menus }: PageDeps,
	programme: Programme,
	mayIntegrate: boolean,
): Promise<DocumentOwner> {
	const { id: programmeId, public_id: publicId, name, endpoint_id: endpointId } = programme;
	const trouble = await readTrouble(store.db, programme, clock.nowMs());
	return {
		publicId,
		name,
		waiting: await countWaiting(menus.programme, ({ waiting }) => waiting?.count(store.db, programmeId)),
		failed: trouble?.undelivered.failed ?? (await countFailed(store.db, programme.receiver_id)),
		trouble: troubleBanner(trouble, (id) => deliveryPath(publicId, id), noticesPath(publicId), mayIntegrate),
		// A shop without a Postback URL gets no callbacks, so a pause of all callbacks does not concern it.
		pausedSinceMs: endpointId === null ? null : installation.pausedSinceMs(),
	};
}

/** Returns the data for the header and navigation of a partner's pages. */
async function readPartnerFrame(
	{ store, clock, installation, menus }: PageDeps,
	{ id, public_id: publicId, name, erased_at_ms: erasedAtMs }: Partner,
): Promise<DocumentPartner> {
	const isErased = erasedAtMs !== null;
	const waiting = await countWaiting(menus.partner, ({ waiting }) => waiting?.count(store.db, id));
	const receiver = await findPartnerReceiver(store.db, id);
	if (receiver === undefined || receiver.endpoint_id === null) {
		return { publicId, name, isErased, failed: 0, trouble: null, pausedSinceMs: null, waiting };
	}
	const trouble = await readTrouble(store.db, receiver, clock.nowMs());
	const failedPath = `${partnerCallbacksPath(publicId)}?state=failed#deliveries`;
	return {
		publicId,
		name,
		isErased,
		failed: trouble?.undelivered.failed ?? (await countFailed(store.db, receiver.receiver_id)),
		trouble: troubleBanner(trouble, (id) => partnerDeliveryPath(publicId, id), failedPath, true),
		pausedSinceMs: installation.pausedSinceMs(),
		waiting,
	};
}

/**
 * Records how a request from staff reached the service (host name, protocol, proxy), and returns the warnings
 * to show.
 */
function watchArrival(c: WebContext, { installation }: WebDeps, viewer: Viewer): readonly Warning[] {
	if (viewer.kind !== "staff") return [];
	const arrival = arrivalOf(c);
	installation.note(arrival);
	return installation.warningsFor(arrival);
}

/** Security headers. They let the browser run only our own scripts and styles, and send requests only to our site. */
const HEADERS = {
	"content-security-policy":
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	// Our addresses may contain tokens, so other sites must not get them as the referrer.
	"referrer-policy": "same-origin",
	"x-content-type-options": "nosniff",
	"cross-origin-opener-policy": "same-origin",
};

export const securePages: Guard = async (c, next) => {
	await next();
	for (const [name, value] of Object.entries(HEADERS)) c.res.headers.set(name, value);
	// Assets already have their own cache header.
	if (!c.res.headers.has("cache-control")) c.res.headers.set("cache-control", "no-store");
};

/**
 * Matches an encoded NUL character. Path and query are decoded only once, so no other encoding can produce
 * one.
 */
const NUL_IN_ADDRESS = /%00/;

/**
 * Refuses an address with a NUL character before any query uses it, because PostgreSQL rejects text with NUL.
 */
const guardAddress: Guard = async (c, next) =>
	NUL_IN_ADDRESS.test(c.req.url) ? answerError(c, "not_found") : next();
