// Ending sessions from the account page.

import type { Hono } from "hono";
import { revokeOtherSessions, revokeSession } from "../../accounts/sessions.ts";
import type { Result } from "../../domain/fault.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext, WebEnv } from "../env.ts";
import { setFlash } from "../flash.ts";
import { readTextFields } from "../form.ts";
import { viewerOf } from "../viewer.ts";

export function mountSessions(site: Hono<WebEnv>, deps: WebDeps): void {
	site.post("/account/sessions/end", async (c) => {
		const { sessionId } = await readTextFields(c, ["sessionId"]);
		const ended = await revokeSession(deps, viewerOf(c).personId, sessionId, c.get("visitor"));
		return answer(c, ended, "The session has ended.");
	});
	site.post("/account/sessions/end-others", async (c) => {
		const ended = await revokeOtherSessions(deps, viewerOf(c).personId, c.get("visitor"));
		return answer(c, ended, "All your other sessions have ended.");
	});
}

function answer(c: WebContext, ended: Result<true>, text: string): Response {
	if (ended.ok) setFlash(c, "good", text);
	else setFlash(c, "bad", ended.fault.detail);
	return c.redirect("/account#sessions", 303);
}
