// Who is looking at a page.

import { findPersonByPublicId } from "../store/people.ts";
import { listNewestProgrammes, listOwnedProgrammes } from "../store/programme-access.ts";
import type { Programme } from "../store/programmes.ts";
import type { Db } from "../store/store.ts";
import type { Viewer, WebContext } from "./env.ts";

export type { Viewer } from "./env.ts";

const MAX_LISTED_PROGRAMMES = 50;

/** Null for somebody who is no longer welcome: their session is worth nothing from that moment on. */
export async function loadViewer(db: Db, personPublicId: string): Promise<Viewer | null> {
	const person = await findPersonByPublicId(db, personPublicId);
	if (person === undefined || person.deactivated_at_ms !== null) return null;
	const { id: personId, public_id: publicId, email, name, role } = person;
	const programmes =
		role === "staff"
			? await listNewestProgrammes(db, MAX_LISTED_PROGRAMMES)
			: await listOwnedProgrammes(db, personId, MAX_LISTED_PROGRAMMES);
	return { personId, publicId, email, name, role, programmes };
}

/** For pages behind the sign-in. */
export function viewerOf(c: WebContext): Viewer {
	const viewer = c.get("viewer");
	if (viewer === null || viewer === undefined) throw new Error("a page that is not behind the sign-in");
	return viewer;
}

/** For pages below /programmes/:programmeId: it is this viewer's, or staff are looking. */
export function programmeOf(c: WebContext): Programme {
	const programme: Programme | undefined = c.get("programme");
	if (programme === undefined) throw new Error("a page that is not below a programme");
	return programme;
}
