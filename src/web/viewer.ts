// Who is looking at a page.

import type { AuthSession } from "../accounts/auth.ts";
import type { Maker } from "../accounts/links.ts";
import { isAuthenticatorRequired } from "../domain/authenticator.ts";
import { findPersonByPublicId } from "../store/people.ts";
import { listOwnedProgrammes } from "../store/programme-access.ts";
import type { Programme } from "../store/programmes.ts";
import type { WebDeps } from "./deps.ts";
import type { Viewer, WebContext } from "./env.ts";

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
	const { id: personId, public_id: publicId, email, name, role } = person;
	const own = role === "staff" ? [] : await listOwnedProgrammes(db, personId, PROGRAMMES_COUNTED);
	const awaitsAuthenticator = !hasAuthenticator && isAuthenticatorRequired(staffAuthenticator, role);
	const programmeCount = own.length;
	return { personId, publicId, email, name, role, programmeCount, hasAuthenticator, awaitsAuthenticator };
}

/** For pages behind the sign-in. */
export function viewerOf(c: WebContext): Viewer {
	const viewer = c.get("viewer");
	if (viewer === null || viewer === undefined) throw new Error("a page that is not behind the sign-in");
	return viewer;
}

/** For what must not be done any more once the viewer has been signed out, even a moment ago. */
export function makerOf(c: WebContext): Maker {
	const sessionId = c.get("sessionId");
	if (sessionId === null) throw new Error("a page that is not behind the sign-in");
	const { personId, role } = viewerOf(c);
	return { personId, role, sessionId };
}

/** For pages below /programmes/:programmeId: it is this viewer's, or staff are looking. */
export function programmeOf(c: WebContext): Programme {
	const programme: Programme | undefined = c.get("programme");
	if (programme === undefined) throw new Error("a page that is not below a programme");
	return programme;
}
