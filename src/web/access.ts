// This room is the pages; begin at `site.ts`.
// Here: the guards of a route, in their order: headers, session, address, who may open it, the form. People of a shop
// open their own programmes, staff all of them. What is not theirs is answered exactly like what does not exist; what
// their role does not allow, with a page that says so.

import type { MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { grants, type Right } from "../domain/roles.ts";
import { recordOf } from "../request-notes.ts";
import { answerError } from "./error-page.ts";
import { answerEnded } from "./live-page.ts";
import {
	CSRF_FIELD,
	findProgrammeFor,
	viewerOf,
	type WebContext,
	type WebDeps,
	type WebEnv,
} from "./page.ts";
import { AUTHENTICATOR_PATH, SIGN_IN_PATH, withNext } from "./paths.ts";
import type { FileBounds } from "./receive-file.ts";
import { createUploadGuard, isUpload, type UploadDeps, type UploadGuard } from "./receive-file.ts";
import type { Access, Route } from "./routes.ts";
import { openSession } from "./session.ts";

type Guard = MiddlewareHandler<WebEnv>;

export function createGuards(
	deps: WebDeps,
): (route: Pick<Route, "access" | "isStream" | "takesFile">) => readonly Guard[] {
	const session = openSession(deps);
	const guardForms = createFormGuards(deps);
	const programme = (right: Right) => requireProgramme(deps, right);
	return ({ access, isStream = false, takesFile }) => {
		const signIn = requireSignIn(isStream);
		const signedIn = [signIn, requireAuthenticator(isStream)];
		const guards: Readonly<Record<Access, readonly Guard[]>> = {
			anyone: [],
			"signed-in": signedIn,
			programme: [...signedIn, programme("look")],
			"programme-integrate": [...signedIn, programme("integrate")],
			"programme-decide": [...signedIn, programme("decide")],
			"programme-manage": [...signedIn, programme("manage")],
			staff: [...signedIn, requireStaff],
			"account-authenticator": [signIn],
		};
		return [securePages, session, guardAddress, ...guards[access], ...guardForms(takesFile ?? null)];
	};
}

/** Whoever is not signed in is led to the sign-in, and from there back to the page they asked for. */
function requireSignIn(isStream: boolean): Guard {
	return async (c, next) => {
		if (c.get("viewer") !== null) return next();
		if (isStream) return answerEnded();
		if (c.req.method !== "GET") return c.redirect(SIGN_IN_PATH, 303);
		const { pathname, search } = new URL(c.req.url);
		return c.redirect(withNext(SIGN_IN_PATH, `${pathname}${search}`), 303);
	};
}

/** Where the network asks its staff to have one, whoever has none is led to set it up, whatever they asked for. */
function requireAuthenticator(isStream: boolean): Guard {
	return async (c, next) => {
		if (!viewerOf(c).awaitsAuthenticator) return next();
		return isStream ? answerEnded() : c.redirect(AUTHENTICATOR_PATH, 303);
	};
}

const requireStaff: Guard = async (c, next) =>
	viewerOf(c).kind === "staff" ? next() : answerError(c, "not_found");

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

// Forms that only our own pages can send: the right token, and nothing that says it came from another site. And text
// that can be stored: nobody types a NUL character, and PostgreSQL neither keeps nor compares one.

/** A request pasted into the signature check is the longest: 128 KiB, three times as long when encoded. */
const MAX_FORM_BYTES = 512 * 1024;
/** Whoever is not signed in has nothing longer to say than a name and a password. */
const MAX_STRANGER_BYTES = 16 * 1024;

/** A selection of a whole page has some sixty. What has hundreds of thousands takes seconds to read. */
const MAX_FIELDS = 1_000;

/** Before any handler that changes something: what bounds the form, and what says whether it is ours. */
function createFormGuards(
	deps: Pick<WebDeps, "publicUrl"> & UploadDeps,
): (takesFile: FileBounds | null) => readonly MiddlewareHandler<WebEnv>[] {
	const origin = new URL(deps.publicUrl).origin;
	// One for each, because forms of the same bounds share their slots.
	const guards = new Map<FileBounds, UploadGuard>();
	const guardOf = (bounds: FileBounds) => {
		const guard = guards.get(bounds) ?? createUploadGuard(deps, bounds);
		guards.set(bounds, guard);
		return guard;
	};
	return (takesFile) => {
		const guardUpload = takesFile === null ? null : guardOf(takesFile);
		const isFile = (c: WebContext) => guardUpload !== null && isUpload(c);
		return [limitForms(isFile), guardForms(origin, guardUpload)];
	};
}

type IsFile = (c: WebContext) => boolean;

function limitForms(isFile: IsFile): MiddlewareHandler<WebEnv> {
	const onError = (c: WebContext) => answerError(c, "body_too_large");
	const ofStrangers = bodyLimit({ maxSize: MAX_STRANGER_BYTES, onError });
	const ofPeople = bodyLimit({ maxSize: MAX_FORM_BYTES, onError });
	return (c, next) => {
		if (c.get("viewer") === null) return ofStrangers(c, next);
		// Files have limits of their own, and are never held: see receive-file.ts.
		return isFile(c) ? next() : ofPeople(c, next);
	};
}

/** Only GET, HEAD and POST are spoken here. `guardUpload`: null where no file is taken. */
function guardForms(origin: string, guardUpload: UploadGuard | null): MiddlewareHandler<WebEnv> {
	return async (c, next) => {
		const { method } = c.req;
		if (method === "GET" || method === "HEAD") return next();
		if (method !== "POST") return answerError(c, "method_not_allowed");
		if (!isFromHere(c, origin)) return answerError(c, "form_not_valid");
		if (guardUpload !== null && isUpload(c)) return guardUpload(c, next);
		if (await hasTooManyFields(c)) return answerError(c, "body_too_large");
		const token = await readToken(c);
		if (!c.get("formGuard").isOwn(c, token)) return answerError(c, "form_not_valid");
		return (await hasNulInForm(c)) ? answerError(c, "invalid_field") : next();
	};
}

/** Counted before the form is read, by what every field must have: a header of its own in multipart forms, an ampersand before it in others. */
async function hasTooManyFields(c: WebContext): Promise<boolean> {
	const isMultipart = /multipart/i.test(c.req.header("content-type") ?? "");
	const marks = (await readBytes(c))
		.toString("latin1")
		.matchAll(isMultipart ? /content-disposition/gi : /&/g);
	return marks.drop(MAX_FIELDS).next().done !== true;
}

async function readBytes(c: WebContext): Promise<Buffer> {
	try {
		return Buffer.from(await c.req.arrayBuffer());
	} catch {
		// Whoever hung up on the way is refused for want of a token.
		return Buffer.alloc(0);
	}
}

/** What cannot be read as a form has no token: whoever sends such a thing is refused, and nothing is logged. */
async function readToken(c: WebContext): Promise<unknown> {
	try {
		return (await c.req.parseBody())[CSRF_FIELD];
	} catch {
		return undefined;
	}
}

/** Browsers say where a request comes from; what says nothing is left to the token. */
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
const guardAddress: MiddlewareHandler<WebEnv> = async (c, next) =>
	NUL_IN_ADDRESS.test(c.req.url) ? answerError(c, "not_found") : next();

/** Of text and of files' names; what is in a file is left to whoever reads it. */
async function hasNulInForm(c: WebContext): Promise<boolean> {
	const fields = Object.values(await c.req.parseBody({ all: true })).flat();
	return fields.some((field) => (typeof field === "string" ? field : field.name).includes(NUL));
}
