// This room is the pages; begin at `site.ts`.
// Here: the guards of a route, in their order: headers, session, address, who may open it, the form. People of a shop
// open their own programmes, staff all of them, a partner's people their own partner. What is not theirs is answered exactly like what does not exist; what
// their role does not allow, with a page that says so.

import type { MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { getCookie } from "hono/cookie";
import { readTrouble } from "../callbacks/failure-notices.ts";
import { blockOf, findClientAddress } from "../domain/client-address.ts";
import { grants, type Right } from "../domain/roles.ts";
import { readArrival, type Warning } from "../domain/warning.ts";
import { readTokenCookie, SESSION, type Visitor } from "../people/auth.ts";
import { deviceCookieName } from "../people/signed-cookies.ts";
import { recordOf } from "../request-notes.ts";
import { countFailed } from "../store/queries/delivery-health.ts";
import { countApplications, findPartner } from "../store/queries/partners.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { troubleBanner } from "./conversion-ui.ts";
import type { DocumentProgramme, Viewer } from "./document.ts";
import { answerError } from "./error-page.ts";
import { inLanguage } from "./numbers.ts";
import {
	createFlashCookie,
	findProgrammeFor,
	handOnCookies,
	loadViewer,
	may,
	viewerOf,
	type WebContext,
	type WebDeps,
	type WebEnv,
} from "./page.ts";
import { AUTHENTICATOR_PATH, SIGN_IN_PATH, withNext } from "./paths.ts";
import {
	createUploadGuard,
	type FileBounds,
	isUpload,
	type UploadDeps,
	type UploadGuard,
} from "./receive-file.ts";
import type { Access, Route } from "./routes.ts";

type Guard = MiddlewareHandler<WebEnv>;

export function createGuards(
	deps: WebDeps,
): (route: Pick<Route, "access" | "takesFile" | "waitsOutside">) => readonly Guard[] {
	const session = openSession(deps);
	const guardForms = createFormGuards(deps);
	const programme = (right: Right) => requireProgramme(deps, right);
	return ({ access, takesFile, waitsOutside = false }) => {
		const signedIn = [requireSignIn, requireAuthenticator];
		const guards: Readonly<Record<Access, readonly Guard[]>> = {
			anyone: [],
			"signed-in": signedIn,
			programme: [...signedIn, programme("look")],
			"programme-integrate": [...signedIn, programme("integrate")],
			"programme-decide": [...signedIn, programme("decide")],
			"programme-manage": [...signedIn, programme("manage")],
			partner: [...signedIn, requirePartner(deps)],
			"partner-manage": [...signedIn, requireStaff, requirePartner(deps)],
			staff: [...signedIn, requireStaff],
			"account-authenticator": [requireSignIn],
		};
		return [securePages, session, guardAddress, ...guards[access], ...guardForms(takesFile, waitsOutside)];
	};
}

/** Whoever is not signed in is led to the sign-in, and from there back to the page they asked for. */
const requireSignIn: Guard = async (c, next) => {
	if (c.get("viewer") !== null) return next();
	if (c.req.method !== "GET") return c.redirect(SIGN_IN_PATH, 303);
	const { pathname, search } = new URL(c.req.url);
	return c.redirect(withNext(SIGN_IN_PATH, `${pathname}${search}`), 303);
};

/** Where the network asks its staff to have one, whoever has none is led to set it up, whatever they asked for. */
const requireAuthenticator: Guard = async (c, next) =>
	viewerOf(c).awaitsAuthenticator ? c.redirect(AUTHENTICATOR_PATH, 303) : next();

const requireStaff: Guard = async (c, next) =>
	viewerOf(c).kind === "staff" ? next() : answerError(c, "not_found");

/** Where all partnerships have ended it still shows what was earned. */
function requirePartner({ store }: Pick<WebDeps, "store">): Guard {
	return async (c, next) => {
		const id = c.req.param("partnerId") ?? "";
		const { kind, partners } = viewerOf(c);
		const own = partners.find(({ public_id }) => public_id === id);
		const partner = kind === "staff" ? await findPartner(store.db, id) : own;
		if (partner === undefined) return answerError(c, "not_found");
		c.set("partner", partner);
		return next();
	};
}

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

/** A page takes its turn as soon as it is asked for, a form when all of it is in: who sends slowly keeps nobody waiting. */
export function takeTurns(deps: WebDeps): Guard {
	return async (c, next) => {
		if (c.req.method !== "GET" && c.req.method !== "HEAD") return next();
		const endTurn = await deps.turns.wait("pages", turnNameOf(readVisitor(c, deps), deps));
		if (endTurn !== undefined) return next().finally(endTurn);
		c.set("network", await deps.network.read());
		await securePages(c, async () => {
			c.res = await answerError(c, "busy");
		});
		return c.res;
	};
}

function turnNameOf(visitor: Visitor, deps: WebDeps): string {
	return readTokenCookie(deps, SESSION, visitor) ?? blockOf(visitor.address) ?? visitor.address;
}

// The first thing on every page: the cookie becomes a visitor, and, if its session is good, a viewer.

/** Longer ones are of no use on the list of sessions. */
const MAX_USER_AGENT_LENGTH = 300;

function openSession(deps: WebDeps): Guard {
	const flashCookie = createFlashCookie(deps);
	return async (c, next) => {
		c.set("network", await deps.network.read());
		const visitor = readVisitor(c, deps);
		c.set("visitor", visitor);
		c.set("flashCookie", flashCookie);
		c.set("allowsPrivateRanges", deps.allowsPrivateRanges);
		c.set("readFrame", (programme) => readFrame(deps, programme, may(c, "integrate")));
		const found = await deps.auth.findSession(visitor);
		const viewer = found === null ? null : await loadViewer(deps, found.session);
		c.set("viewer", viewer);
		c.set("warnings", viewer === null ? [] : watchArrival(c, deps, viewer));
		c.set("sessionId", viewer === null ? null : (found?.session.id ?? null));
		if (found !== null && viewer !== null) {
			// A session in use lasts longer. Before the page's own cookies, so that signing out has the last word.
			handOnCookies(c, found.setCookies);
		}
		// What strangers read may be kept for others, and is in English.
		const languages = viewer === null ? undefined : (viewer.locale ?? c.req.header("accept-language"));
		return inLanguage(languages, next);
	};
}

/** Its name, whether its callbacks are failing or held, and who waits for an answer. */
async function readFrame(
	{ store, clock, installation }: WebDeps,
	programme: Programme,
	mayIntegrate: boolean,
): Promise<DocumentProgramme> {
	const { public_id: publicId, name, endpoint_id: endpointId } = programme;
	const trouble = await readTrouble(store.db, programme, clock.nowMs());
	return {
		publicId,
		name,
		applications: await countApplications(store.db, programme.id),
		failed: trouble?.undelivered.failed ?? (await countFailed(store.db, programme.id)),
		trouble: troubleBanner(trouble, publicId, mayIntegrate),
		// Without a URL nothing would be sent anyway.
		pausedSinceMs: endpointId === null ? null : installation.pausedSinceMs(),
	};
}

/** What staff are to be told on this page. */
function watchArrival(c: WebContext, { installation }: WebDeps, viewer: Viewer): readonly Warning[] {
	if (viewer.kind !== "staff") return [];
	installation.note(arrivalOf(c));
	return installation.warningsFor(arrivalOf(c));
}

export function arrivalOf(c: WebContext) {
	return readArrival((name) => c.req.header(name), c.env?.incoming?.socket?.remoteAddress);
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

/** What browsers may do with a page: run our own scripts and styles, talk to us, and nothing else. */
const HEADERS = {
	"content-security-policy":
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	// Links hold tokens now and then: no other site gets to see where people came from.
	"referrer-policy": "same-origin",
	"x-content-type-options": "nosniff",
	"cross-origin-opener-policy": "same-origin",
};

export const securePages: Guard = async (c, next) => {
	await next();
	for (const [name, value] of Object.entries(HEADERS)) c.res.headers.set(name, value);
	// Assets say for themselves how long they keep.
	if (!c.res.headers.has("cache-control")) c.res.headers.set("cache-control", "no-store");
};

// Forms that only our own pages can send: the browser says that they come from here. And text that can be stored: nobody types a NUL character, and PostgreSQL neither keeps nor compares one.

/** A request pasted into the signature check is the longest: 128 KiB, three times as long when encoded. */
const MAX_FORM_BYTES = 512 * 1024;
/** Whoever is not signed in has nothing longer to say than a name and a password. */
const MAX_STRANGER_BYTES = 16 * 1024;

/** A selection of a whole page has some sixty. What has hundreds of thousands takes seconds to read. */
const MAX_FIELDS = 1_000;

/** Before any handler that changes something: what bounds the form, and what says whether it is ours. */
function createFormGuards(
	deps: WebDeps & UploadDeps,
): (takesFile: FileBounds | undefined, waitsOutside: boolean) => readonly Guard[] {
	const { origin } = new URL(deps.publicUrl);
	// One for each, because forms of the same bounds share their slots.
	const uploads = new Map<FileBounds, UploadGuard>();
	const onError = (c: WebContext) => answerError(c, "body_too_large");
	const ofStrangers = bodyLimit({ maxSize: MAX_STRANGER_BYTES, onError });
	const ofPeople = bodyLimit({ maxSize: MAX_FORM_BYTES, onError });
	return (bounds, waitsOutside) => {
		const upload = bounds && (uploads.get(bounds) ?? createUploadGuard(deps, bounds));
		if (bounds !== undefined && upload !== undefined) uploads.set(bounds, upload);
		const limit: Guard = async (c, next) => {
			if (c.get("viewer") === null) return ofStrangers(c, next);
			// Files have limits of their own, and are never held: see receive-file.ts.
			return upload !== undefined && isUpload(c) ? next() : ofPeople(c, next);
		};
		// It reads a form that does not say how long it is, and that may break off. What fails behind it is answered there.
		const safeLimit: Guard = (c, next) => limit(c, next).catch(() => answerError(c, "cut_off"));
		// Only GET, HEAD and POST are spoken here.
		const guard: Guard = async (c, next) => {
			const { method } = c.req;
			if (method === "GET" || method === "HEAD") return next();
			if (method !== "POST") return answerError(c, "method_not_allowed");
			if (!isFromHere(c, origin)) return answerError(c, "form_not_valid");
			if (upload !== undefined && isUpload(c)) return upload(c, next);
			const body = await c.req.arrayBuffer().catch(() => undefined);
			if (body === undefined) return answerError(c, "cut_off");
			const viewer = c.get("viewer");
			const lane = waitsOutside ? "outside" : "pages";
			const endTurn = await (viewer === null
				? deps.turns.wait("passwords", turnNameOf(c.get("visitor"), deps))
				: deps.turns.wait(lane, viewer.publicId));
			if (endTurn === undefined) return answerError(c, "busy");
			try {
				const wrong = await findWrong(c, Buffer.from(body));
				return wrong === null ? await next() : await answerError(c, wrong);
			} finally {
				endTurn();
			}
		};
		return [safeLimit, guard];
	};
}

async function findWrong(
	c: WebContext,
	body: Buffer,
): Promise<"body_too_large" | "invalid_field" | "form_not_valid" | null> {
	try {
		if (hasTooManyFields(c, body)) return "body_too_large";
		const fields = Object.values(await c.req.parseBody({ all: true })).flat();
		// Of text and of files' names; what is in a file is left to whoever reads it.
		const hasNul = fields.some((field) => (typeof field === "string" ? field : field.name).includes(NUL));
		return hasNul ? "invalid_field" : null;
	} catch {
		// No form at all: nothing of ours has failed.
		return "form_not_valid";
	}
}

/** Counted before the form is read, by what every field must have: a header of its own in multipart forms, an ampersand before it in others. */
function hasTooManyFields(c: WebContext, body: Buffer): boolean {
	const isMultipart = /multipart/i.test(c.req.header("content-type") ?? "");
	const marks = body.toString("latin1").matchAll(isMultipart ? /content-disposition/gi : /&/g);
	return marks.drop(MAX_FIELDS).next().done !== true;
}

/** Every browser says of a form where it comes from, by one header or both: what says nothing is a program of its own, and no other site can send it. */
function isFromHere(c: WebContext, publicOrigin: string): boolean {
	const site = c.req.header("sec-fetch-site");
	if (site !== undefined) return site === "same-origin" || site === "none";
	const origin = c.req.header("origin");
	if (origin === undefined || origin === publicOrigin) return true;
	// Opened by another name than PUBLIC_URL, such as localhost: its own name is what counts.
	return URL.canParse(origin) && new URL(origin).host === c.req.header("host");
}

const NUL = "\u0000";
/** In the path and the query alike, both of which are decoded only once. */
const NUL_IN_ADDRESS = /%00/;

/** Before anything is looked for by what the address says. */
const guardAddress: Guard = async (c, next) =>
	NUL_IN_ADDRESS.test(c.req.url) ? answerError(c, "not_found") : next();
