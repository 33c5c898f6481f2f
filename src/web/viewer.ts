// Who is looking at a page.

import type { AuthSession } from "../accounts/auth.ts";
import type { Maker } from "../accounts/links.ts";
import { isAuthenticatorRequired } from "../domain/authenticator.ts";
import { grants, type Right, type Standing } from "../domain/roles.ts";
import { findPersonByPublicId } from "../store/people.ts";
import { findProgrammeOf, listProgrammesOf } from "../store/programme-people.ts";
import { findProgramme, type Programme } from "../store/programmes.ts";
import type { Db } from "../store/store.ts";
import type { WebDeps } from "./deps.ts";
import type { Viewer, WebContext, WebEnv } from "./env.ts";

export type { Viewer } from "./env.ts";

/** Enough to know whether there is another one to switch to. */
const PROGRAMMES_COUNTED = 2;

/** Null for somebody who is no longer welcome: their session is worth nothing from that moment on. */
export async function loadViewer(
	{ store: { db }, staffAuthenticator }: Pick<WebDeps, "store" | "staffAuthenticator">,
	{ personPublicId, hasAuthenticator }: Pick<AuthSession, "personPublicId" | "hasAuthenticator">,
): Promise<Viewer | null> {
	const person = await findPersonByPublicId(db, personPublicId);
	if (person === undefined || person.deactivated_at_ms !== null) return null;
	const { id: personId, public_id: publicId, email, name, kind, zone, locale } = person;
	const own = kind === "staff" ? [] : await listProgrammesOf(db, personId, PROGRAMMES_COUNTED);
	const awaitsAuthenticator = !hasAuthenticator && isAuthenticatorRequired(staffAuthenticator, kind);
	const programmeCount = own.length;
	const settings = { email, name, kind, zone, locale };
	return { personId, publicId, ...settings, programmeCount, hasAuthenticator, awaitsAuthenticator };
}

/** Undefined when there is no such programme, or it is none of theirs. */
export async function findProgrammeFor(
	db: Db,
	{ kind, personId }: Pick<Viewer, "kind" | "personId">,
	publicId: string,
): Promise<Pick<WebEnv["Variables"], "programme" | "standing"> | undefined> {
	if (kind === "staff") {
		const programme = await findProgramme(db, publicId);
		return programme === undefined ? undefined : { programme, standing: "staff" };
	}
	const found = await findProgrammeOf(db, personId, publicId);
	return found === undefined ? undefined : { programme: found.programme, standing: found.role };
}

/** For pages behind the sign-in. */
export function viewerOf(c: WebContext): Viewer {
	const viewer = c.get("viewer");
	if (viewer === null || viewer === undefined) throw new Error("a page that is not behind the sign-in");
	return viewer;
}

/** On pages for everybody: staff who may open all that is staff's. */
export function isStaffViewer(c: WebContext): boolean {
	const viewer = c.get("viewer");
	return viewer?.kind === "staff" && !viewer.awaitsAuthenticator;
}

/** For what must not be done any more once the viewer has been signed out, even a moment ago. */
export function makerOf(c: WebContext): Maker {
	const sessionId = c.get("sessionId");
	if (sessionId === null) throw new Error("a page that is not behind the sign-in");
	const { personId, kind } = viewerOf(c);
	return { personId, kind, sessionId };
}

/** For pages below /programmes/:programmeId: this viewer is one of its people, or staff. */
export function programmeOf(c: WebContext): Programme {
	const programme: Programme | undefined = c.get("programme");
	if (programme === undefined) throw new Error("a page that is not below a programme");
	return programme;
}

/** What the viewer is to that programme. */
export function standingOf(c: WebContext): Standing {
	const standing: Standing | undefined = c.get("standing");
	if (standing === undefined) throw new Error("a page that is not below a programme");
	return standing;
}

/** Whether the viewer may do it in that programme: what somebody may not do is not offered to them. */
export function may(c: WebContext, right: Right): boolean {
	return grants(standingOf(c), right);
}
