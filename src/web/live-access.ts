// Whether somebody who is watching a live page may still see it: asked again before anything is sent.

import { findOwnedProgramme } from "../store/programme-access.ts";
import type { Programme } from "../store/programmes.ts";
import type { WebDeps } from "./deps.ts";
import type { WebContext } from "./env.ts";
import { loadViewer } from "./viewer.ts";

export function createStillAllowed(
	c: WebContext,
	deps: Pick<WebDeps, "auth" | "store" | "staffAuthenticator">,
	programme: Programme,
): () => Promise<boolean> {
	const visitor = c.get("visitor");
	return async () => {
		const found = await deps.auth.findSession(visitor);
		const viewer = found === null ? null : await loadViewer(deps, found.session);
		if (viewer === null || viewer.awaitsAuthenticator) return false;
		if (viewer.role === "staff") return true;
		return (await findOwnedProgramme(deps.store.db, viewer.personId, programme.public_id)) !== undefined;
	};
}
