// Where a person is signed in: ending it there, and going on under another token. Sessions are named by their id: the
// token never leaves the cookie.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { findSessionRow, resumeSession, type SessionRow } from "../store/queries/sign-in.ts";
import type { Db } from "../store/store.ts";
import type { Visitor } from "./auth.ts";
import { refusalOf } from "./auth-fault.ts";
import { type Maker, transactAs } from "./links.ts";
import type { SignInDeps } from "./sign-in.ts";

const SESSION_ID_BYTES = 16;
const SESSION_TOKEN_BYTES = 32;

/**
 * For a change that ends sessions, this one among them: it goes on under a new id and token, so that whoever copied its
 * cookie has nothing. All in one transaction, or nothing. Refused by the change itself, or when the session has ended
 * meanwhile. Also resolves to the session's new cookies.
 */
export async function changeWithSession<Value>(
	{ auth, store, random }: Pick<SignInDeps, "auth" | "store" | "random">,
	maker: Maker,
	visitor: Visitor,
	change: (trx: Db, session: SessionRow) => Promise<Result<Value>>,
): Promise<Result<{ value: Value; setCookies: readonly string[] }>> {
	const renewed = { id: random.hex(SESSION_ID_BYTES), token: random.hex(SESSION_TOKEN_BYTES) };
	const changed = await transactAs(store, maker, async (trx) => {
		const session = await findSessionRow(trx, maker.sessionId);
		if (session === undefined) throw new Error("a session that was there a moment ago");
		const done = await change(trx, session);
		if (done.ok) await resumeSession(trx, session, renewed);
		return done;
	});
	if (!changed.ok) return changed;
	return succeed({ value: changed.value, setCookies: await auth.sessionCookies(renewed.token, visitor) });
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
