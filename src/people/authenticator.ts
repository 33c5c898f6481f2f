// The authenticator (TOTP): set up with the password, on only after a code has shown that it works, off only with
// password and code. A network may ask its staff to have one.

import { z } from "zod";
import { isAuthenticatorRequired, type StaffAuthenticator } from "../domain/authenticator.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import type { PersonKind } from "../domain/roles.ts";
import { noteAudit } from "../store/queries/audit.ts";
import {
	endSession,
	endSessions,
	isAuthenticatorOn,
	leaveSetupToUs,
	turnAuthenticatorOff,
	turnAuthenticatorOn,
} from "../store/queries/sign-in.ts";
import type { Db } from "../store/store.ts";
import type { AuthSession, Visitor } from "./auth.ts";
import { authenticatorNotSetUp, refusalOf, wrongPassword } from "./auth-fault.ts";
import { type CodeHolder, codeAlreadyUsed, tryCode, useNetworkForCode } from "./code-limits.ts";
import { withPasswordLimit } from "./password-limits.ts";
import { changeWithSession } from "./sessions.ts";
import type { SignInDeps } from "./sign-in.ts";
import { makeDeviceCookie } from "./signed-cookies.ts";

export interface AuthenticatorSetup {
	/** otpauth://… for the app; holds the secret. */
	uri: string;
	/** Shown this once. */
	backupCodes: readonly string[];
}

interface Holder extends CodeHolder {
	kind: PersonKind;
}

const ENABLED = z.object({ totpURI: z.string(), backupCodes: z.array(z.string()) });

export async function beginAuthenticator(
	deps: SignInDeps,
	{ email }: Pick<Holder, "email">,
	password: string,
	visitor: Visitor,
): Promise<Result<AuthenticatorSetup>> {
	// better-auth would put the new secret in the old one's place at once, before any code has proved it.
	if ((await findOwnSession(deps, visitor)).hasAuthenticator) {
		return refuse("authenticator_already_on", "The authenticator is on already. Turn it off first.");
	}
	return withPasswordLimit(deps, email, visitor, async () => {
		const answer = await deps.auth.post("/two-factor/enable", { password }, visitor);
		if (answer.status !== 200) return refusalOf(answer);
		const { totpURI, backupCodes } = ENABLED.parse(answer.body);
		return succeed({ uri: totpURI, backupCodes });
	});
}

/** Resolves to the session's new cookies. */
export async function confirmAuthenticator(
	deps: SignInDeps,
	person: Holder,
	code: string,
	visitor: Visitor,
): Promise<Result<readonly string[]>> {
	const session = await findOwnSession(deps, visitor);
	if (session.hasAuthenticator) return alreadyOn();
	const tooMany = await useNetworkForCode(deps, visitor);
	if (tooMany !== null) return tooMany;
	const setupId = await leaveSetupToUs(deps.store.db, person.publicId);
	if (setupId === undefined) return authenticatorNotSetUp();
	const tried = await tryCode(deps, person, { text: code, accepts: "app" }, visitor);
	if (!tried.ok) return tried;
	const { spend, forgive } = tried.value;
	const changed = await commitChange(
		deps,
		{ person, session, visitor },
		"authenticator.turned_on",
		async (trx) => {
			if (await isAuthenticatorOn(trx, person.publicId)) return alreadyOn();
			if (!(await turnAuthenticatorOn(trx, person.publicId, setupId))) {
				return authenticatorNotSetUp();
			}
			// Seen on this screen just now: it must not open the next sign-in.
			await spend(trx);
			return succeed(true);
		},
	);
	if (changed.ok) await forgive();
	return changed;
}

export interface Proof {
	password: string;
	/** Of the authenticator that is on, or one of its backup codes. */
	code: string;
}

/** Resolves to the session's new cookies. */
export async function disableAuthenticator(
	deps: SignInDeps & { staffAuthenticator: StaffAuthenticator },
	person: Holder,
	proof: Proof,
	visitor: Visitor,
): Promise<Result<readonly string[]>> {
	if (isAuthenticatorRequired(deps.staffAuthenticator, person.kind)) {
		return refuse(
			"not_allowed",
			"Staff of this network must have an authenticator, so it stays on. You can move it to a new phone.",
		);
	}
	return removeAuthenticator(deps, person, proof, visitor);
}

/**
 * Also for a new phone: whoever must have an authenticator can do nothing but set up the new one afterwards.
 * The password comes first: a mistyped one must not use up a backup code.
 */
export async function removeAuthenticator(
	deps: SignInDeps,
	person: Holder,
	{ password, code }: Proof,
	visitor: Visitor,
): Promise<Result<readonly string[]>> {
	const session = await findOwnSession(deps, visitor);
	if (!session.hasAuthenticator) return alreadyOff();
	const tooMany = await useNetworkForCode(deps, visitor);
	if (tooMany !== null) return tooMany;
	return withPasswordLimit(deps, person.email, visitor, async () => {
		if (!(await deps.auth.isPassword(person.email, password))) return wrongPassword();
		const tried = await tryCode(deps, person, { text: code, accepts: "either" }, visitor);
		if (!tried.ok) return tried;
		const { spend, forgive } = tried.value;
		const changed = await commitChange(
			deps,
			{ person, session, visitor },
			"authenticator.turned_off",
			async (trx) => {
				if (!(await isAuthenticatorOn(trx, person.publicId))) return alreadyOff();
				if (!(await spend(trx))) return codeAlreadyUsed("Wait for the next one.");
				await turnAuthenticatorOff(trx, person.publicId);
				return succeed(true);
			},
		);
		if (changed.ok) await forgive();
		return changed;
	});
}

interface Change {
	person: Holder;
	session: AuthSession;
	visitor: Visitor;
}

/** The change, and the note from which the person is told. By then better-auth has only judged the code. */
async function commitChange(
	deps: SignInDeps,
	{ person: { personId, kind, email }, session, visitor }: Change,
	action: "authenticator.turned_on" | "authenticator.turned_off",
	apply: (trx: Db) => Promise<Result<true>>,
): Promise<Result<readonly string[]>> {
	const maker = { personId, kind, sessionId: session.id };
	const changed = await changeWithSession(deps, maker, visitor, async (trx, row) => {
		const applied = await apply(trx);
		if (!applied.ok) return applied;
		// From now on the password alone is not enough: what it has opened elsewhere ends.
		if (action === "authenticator.turned_on") await endSessions(trx, row.userId);
		else await endSession(trx, row.token);
		await noteAudit(trx, { personId, action, address: visitor.address }, deps.clock.nowMs());
		return applied;
	});
	if (!changed.ok) return changed;
	// The cookie that knows this browser was signed for the account as it was before.
	return succeed([...changed.value.setCookies, await makeDeviceCookie(deps, email)]);
}

async function findOwnSession({ auth }: Pick<SignInDeps, "auth">, visitor: Visitor): Promise<AuthSession> {
	const found = await auth.findSession(visitor);
	if (found === null) throw new Error("a page that is not behind the sign-in");
	return found.session;
}

function alreadyOn(): ReturnType<typeof refuse> {
	return refuse("authenticator_already_on", "The authenticator is on already. Nothing is left to do.");
}

function alreadyOff(): ReturnType<typeof refuse> {
	return refuse("authenticator_not_on", "The authenticator is off already. Nothing is left to do.");
}
