// This room is the pages; begin at `site.ts`.
// Here: the guards of a route, in their order: headers, session, address, who may open it, the form. People of a shop
// open their own programmes, staff all of them. What is not theirs is answered exactly like what does not exist; what
// their role does not allow, with a page that says so.

import type { MiddlewareHandler } from "hono";
import { grants, type Right } from "../domain/roles.ts";
import { recordOf } from "../request-notes.ts";
import { requireRecentPassword } from "./account/enter-password-page.ts";
import type { WebDeps } from "./deps.ts";
import type { WebEnv } from "./env.ts";
import { answerError } from "./error-page.ts";
import { createFormGuards, guardAddress } from "./guard-forms.ts";
import { answerEnded } from "./live.ts";
import { AUTHENTICATOR_PATH, SIGN_IN_PATH, withNext } from "./paths.ts";
import type { FileBounds } from "./receive-file.ts";
import type { Access } from "./routes.ts";
import { openSession } from "./session.ts";
import { findProgrammeFor, viewerOf } from "./viewer.ts";

type Guard = MiddlewareHandler<WebEnv>;

interface Guarded {
	access: Access;
	isStream?: true;
	takesFile?: FileBounds;
}

export function createGuards(deps: WebDeps): (route: Guarded) => readonly Guard[] {
	const session = openSession(deps);
	const guardForms = createFormGuards(deps);
	const recentPassword = requireRecentPassword(deps);
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
			account: [...signedIn, recentPassword],
			"account-authenticator": [signIn, recentPassword],
			"account-password": [signIn],
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
