// Where a person is signed in, and ending it there. Sessions are named by their id: the token never leaves
// the cookie.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/audit.ts";
import type { Visitor } from "./auth.ts";
import { faultOf } from "./auth-fault.ts";
import type { SignInDeps } from "./sign-in.ts";

export async function revokeSession(
	{ auth, store, clock }: SignInDeps,
	personId: number,
	sessionId: string,
	visitor: Visitor,
): Promise<Result<true>> {
	const found = (await auth.listSessions(visitor)).find(({ id }) => id === sessionId);
	if (found === undefined) {
		return refuse("unknown_session", "This session has ended already. Nothing is left to do.");
	}
	const answer = await auth.post("/revoke-session", { token: found.token }, visitor);
	if (answer.status !== 200) return { ok: false, fault: faultOf(answer) };
	await noteAudit(store.db, { personId, action: "sessions.revoked", detail: "one" }, clock.nowMs());
	return succeed(true);
}

export async function revokeOtherSessions(
	{ auth, store, clock }: SignInDeps,
	personId: number,
	visitor: Visitor,
): Promise<Result<true>> {
	const answer = await auth.post("/revoke-other-sessions", {}, visitor);
	if (answer.status !== 200) return { ok: false, fault: faultOf(answer) };
	await noteAudit(store.db, { personId, action: "sessions.revoked", detail: "all others" }, clock.nowMs());
	return succeed(true);
}
