// Where a person is signed in: ending it there, and going on under another token. Sessions are named by their id: the
// token never leaves the cookie.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { endSession, endSessions, findSession } from "../store/queries/sign-in.ts";
import type { Db } from "../store/store.ts";
import { type AuthDeps, type AuthSession, resumeSession, type SignInDeps, type Visitor } from "./auth.ts";
import { type Maker, transactAs } from "./links.ts";

/**
 * For a change that ends sessions, this one among them: it goes on under a new id and token, so that whoever copied its
 * cookie has nothing. All in one transaction, or nothing. Refused by the change itself, or when the session has ended
 * meanwhile. Also resolves to the session's new cookie.
 */
export async function changeWithSession<Value>(
	deps: Omit<AuthDeps, "log">,
	maker: Maker,
	change: (trx: Db, session: AuthSession) => Promise<Result<Value>>,
): Promise<Result<{ value: Value; setCookie: string }>> {
	return transactAs(deps.store, maker, async (trx) => {
		const session = await findSession(trx, "id", maker.sessionId);
		if (session === undefined) throw new Error("a session that was there a moment ago");
		const done = await change(trx, session);
		if (!done.ok) return done;
		return succeed({ value: done.value, setCookie: await resumeSession(trx, deps, session) });
	});
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
	await endSession(store.db, found.token);
	await noteAudit(store.db, { personId, action: "sessions.revoked", detail: "one" }, clock.nowMs());
	return succeed(true);
}

export async function revokeOtherSessions(
	{ auth, store, clock }: SignInDeps,
	personId: number,
	visitor: Visitor,
): Promise<Result<true>> {
	const own = await auth.findSession(visitor);
	if (own !== null) await endSessions(store.db, own.session.personPublicId, own.session.id);
	await noteAudit(store.db, { personId, action: "sessions.revoked", detail: "all others" }, clock.nowMs());
	return succeed(true);
}
