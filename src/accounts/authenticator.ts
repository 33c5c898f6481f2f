// The authenticator (TOTP): set up with the password, on only after a code has shown that it works, off only with
// password and code. A network may ask its staff to have one.

import { z } from "zod";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { isAuthenticatorRequired, type StaffAuthenticator } from "../domain/staff-authenticator.ts";
import { noteAudit } from "../store/audit.ts";
import type { Role } from "../store/tables/people.ts";
import type { Visitor } from "./auth.ts";
import { faultOf, wrongPassword } from "./auth-fault.ts";
import { type CodeHolder, codeAlreadyUsed, takeNetworkTurn, tryCode } from "./code-turns.ts";
import { withPasswordTurn } from "./password-turns.ts";
import type { SignInDeps } from "./sign-in.ts";

export interface AuthenticatorSetup {
	/** otpauth://… for the app; holds the secret. */
	uri: string;
	/** Shown this once. */
	backupCodes: readonly string[];
}

interface Holder extends CodeHolder {
	role: Role;
}

const ENABLED = z.object({ totpURI: z.string(), backupCodes: z.array(z.string()) });

export async function beginAuthenticator(
	deps: SignInDeps,
	{ email }: Pick<Holder, "email">,
	password: string,
	visitor: Visitor,
): Promise<Result<AuthenticatorSetup>> {
	// better-auth would put the new secret in the old one's place at once, before any code has proved it.
	if (await isOn(deps, visitor)) {
		return refuse("authenticator_already_on", "The authenticator is on already. Turn it off first.");
	}
	return withPasswordTurn(deps, email, visitor, async () => {
		const answer = await deps.auth.post("/two-factor/enable", { password }, visitor);
		if (answer.status !== 200) return { ok: false, fault: faultOf(answer) };
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
	if (await isOn(deps, visitor)) {
		return refuse("authenticator_already_on", "The authenticator is on already. Nothing is left to do.");
	}
	const tooMany = await takeNetworkTurn(deps, visitor);
	if (tooMany !== null) return { ok: false, fault: tooMany };
	const tried = await tryCode(deps, person, { text: code, accepts: "app" }, visitor);
	if (!tried.ok) return tried;
	await deps.store.transact(async (trx) => {
		// Seen on this screen just now: it must not open the next sign-in.
		await tried.value.spend(trx);
		const note = { personId: person.personId, action: "authenticator.turned_on" } as const;
		await noteAudit(trx, { ...note, address: visitor.address }, deps.clock.nowMs());
	});
	await tried.value.forgive();
	return succeed(tried.value.answer.setCookies);
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
	if (isAuthenticatorRequired(deps.staffAuthenticator, person.role)) {
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
	if (!(await isOn(deps, visitor))) {
		return refuse("authenticator_not_on", "The authenticator is off already. Nothing is left to do.");
	}
	const tooMany = await takeNetworkTurn(deps, visitor);
	if (tooMany !== null) return { ok: false, fault: tooMany };
	return withPasswordTurn(deps, person.email, visitor, async () => {
		if (!(await deps.auth.isPassword(person.email, password))) return { ok: false, fault: wrongPassword() };
		const tried = await tryCode(deps, person, { text: code, accepts: "either" }, visitor);
		if (!tried.ok) return tried;
		if (!(await deps.store.transact(tried.value.spend))) {
			return { ok: false, fault: codeAlreadyUsed("Wait for the next one.") };
		}
		await tried.value.forgive();
		const answer = await deps.auth.post("/two-factor/disable", { password }, visitor);
		if (answer.status !== 200) return { ok: false, fault: faultOf(answer) };
		const note = { personId: person.personId, action: "authenticator.turned_off" } as const;
		await deps.store.transact((trx) =>
			noteAudit(trx, { ...note, address: visitor.address }, deps.clock.nowMs()),
		);
		return succeed(answer.setCookies);
	});
}

async function isOn({ auth }: Pick<SignInDeps, "auth">, visitor: Visitor): Promise<boolean> {
	return (await auth.findSession(visitor))?.session.hasAuthenticator === true;
}
