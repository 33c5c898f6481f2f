// Where a person is signed in, and ending it there. Sessions are named by their id: the token never leaves
// the cookie.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import type { Random } from "../ports.ts";
import { noteAudit } from "../store/audit.ts";
import type { Visitor } from "./auth.ts";
import { refusalOf } from "./auth-fault.ts";
import type { SignInDeps } from "./sign-in.ts";

const SESSION_ID_BYTES = 16;
const SESSION_TOKEN_BYTES = 32;

/** For a session that goes on when others end: whoever copied its cookie has nothing. */
export function makeSessionNames({ hex }: Random): { id: string; token: string } {
	return { id: hex(SESSION_ID_BYTES), token: hex(SESSION_TOKEN_BYTES) };
}

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
	if (answer.status !== 200) return refusalOf(answer);
	await noteAudit(store.db, { personId, action: "sessions.revoked", detail: "one" }, clock.nowMs());
	return succeed(true);
}

export async function revokeOtherSessions(
	{ auth, store, clock }: SignInDeps,
	personId: number,
	visitor: Visitor,
): Promise<Result<true>> {
	const answer = await auth.post("/revoke-other-sessions", {}, visitor);
	if (answer.status !== 200) return refusalOf(answer);
	await noteAudit(store.db, { personId, action: "sessions.revoked", detail: "all others" }, clock.nowMs());
	return succeed(true);
}
