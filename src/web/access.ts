// Who may open what: an owner their own programmes, staff all of them. What is not theirs is answered exactly
// like what does not exist.

import type { MiddlewareHandler } from "hono";
import { findOwnedProgramme } from "../store/programme-access.ts";
import { findProgramme } from "../store/programmes.ts";
import type { WebDeps } from "./deps.ts";
import type { WebEnv } from "./env.ts";
import { answerError } from "./error-page.ts";
import { answerEnded } from "./live.ts";
import { viewerOf } from "./viewer.ts";

/** Where the authenticator is set up. */
export const SET_UP_PATH = "/account/authenticator";
export const CONFIRM_PATH = "/account/authenticator/confirm";
/** Where the password is asked for again, before the account opens. */
export const ENTER_PASSWORD_PATH = "/account/enter-password";

/** How the addresses of all streams end. */
const LIVE_SUFFIX = "/live";

/** Nobody is sent to sign in, and comes back to the page they asked for. */
export const requireSignIn: MiddlewareHandler<WebEnv> = async (c, next) => {
	if (c.get("viewer") !== null) return next();
	if (c.req.path.endsWith(LIVE_SUFFIX)) return answerEnded();
	if (c.req.method !== "GET") return c.redirect("/sign-in", 303);
	const { pathname, search } = new URL(c.req.url);
	return c.redirect(`/sign-in?next=${encodeURIComponent(`${pathname}${search}`)}`, 303);
};

/** All that staff can do who must set up an authenticator first, besides signing out. */
const SET_UP_PATHS: readonly string[] = [SET_UP_PATH, CONFIRM_PATH, ENTER_PASSWORD_PATH];

/** Where the network asks its staff to have one, whoever has none is led to set it up, whatever they asked for. */
export const requireAuthenticator: MiddlewareHandler<WebEnv> = async (c, next) => {
	if (!viewerOf(c).awaitsAuthenticator || SET_UP_PATHS.includes(c.req.path)) return next();
	return c.req.path.endsWith(LIVE_SUFFIX) ? answerEnded() : c.redirect(SET_UP_PATH, 303);
};

export const requireStaff: MiddlewareHandler<WebEnv> = async (c, next) =>
	viewerOf(c).role === "staff" ? next() : answerError(c, "not_found");

/** The form that makes a programme is no programme; below it there is nothing. */
const CREATE_PATH = "/programmes/new";

export function requireProgramme({ store }: Pick<WebDeps, "store">): MiddlewareHandler<WebEnv> {
	return async (c, next) => {
		const publicId = c.req.param("programmeId") ?? "";
		if (c.req.path === CREATE_PATH) return next();
		const viewer = viewerOf(c);
		const programme =
			viewer.role === "staff"
				? await findProgramme(store.db, publicId)
				: await findOwnedProgramme(store.db, viewer.personId, publicId);
		if (programme === undefined) return answerError(c, "not_found");
		c.set("programme", programme);
		return next();
	};
}
