// The authenticator (TOTP) of an account. Setting it up needs the password, turning it on needs a code that
// proves that the app works, and turning it off needs both. Each code is counted against the limits before it
// is checked. The transaction that makes the change also marks the code as used.

import { z } from "zod";
import {
	acceptedTotpCodes,
	makeBackupCode,
	readTypedCode,
	TOTP_SECRET_BYTES,
	type TypedCode,
	totpUri,
} from "../domain/authenticator-code.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { openForPerson, SEALING_IV_BYTES, sealForPerson } from "../domain/sealing.ts";
import { sha256Hex } from "../domain/signature.ts";
import { MINUTE_MS } from "../domain/time.ts";
import { noteAudit } from "../store/queries/audit.ts";
import * as rows from "../store/queries/authenticators.ts";
import { sealingKeyIn } from "../store/queries/sealing-key.ts";
import { endSession, endSessions, type Session } from "../store/queries/sessions.ts";
import type { Db } from "../store/store.ts";
import { SIGNED_IN, type SignedInPerson, transactAs } from "./actor.ts";
import { changeWithSession, type SignInDeps, type Visitor } from "./auth.ts";
import { findDevice } from "./device-cookie.ts";
import { giveUseBack, LIMITS, useLimits } from "./limits.ts";
import { checkPassword } from "./passwords.ts";

type Refusal = ReturnType<typeof refuse>;

export interface AuthenticatorSetup {
	/** The otpauth URI that the person's app reads. It contains the secret. */
	uri: string;
	/** Backup codes, which are shown only once. */
	backupCodes: readonly string[];
}

/** The person whose code is checked. */
export interface CodeHolder {
	personId: number;
	email: string;
}

/** The person who is signed in and changes their own authenticator. */
export type AuthenticatorOwner = CodeHolder & SignedInPerson;

const BACKUP_CODES = 10;

/**
 * Stores a new authenticator that is not turned on yet. The app lists the account under the name `issuer`.
 */
export async function beginAuthenticator(
	deps: SignInDeps,
	owner: AuthenticatorOwner,
	password: string,
	visitor: Visitor,
	issuer: string,
): Promise<Result<AuthenticatorSetup>> {
	const { store, random } = deps;
	const { personId, email } = owner;
	const checked = await checkPassword(deps, email, password, visitor);
	if (!checked.ok) return checked;
	const secret = random.bytes(TOTP_SECRET_BYTES);
	const backupCodes = Array.from({ length: BACKUP_CODES }, () => makeBackupCode(random.bytes));
	return transactAs<AuthenticatorSetup>(store, owner, SIGNED_IN, async (trx) => {
		if (await rows.isAuthenticatorOn(trx, personId)) return alreadyOn("Turn it off first.");
		await rows.replaceSetup(trx, personId, {
			secret: await seal(trx, deps, personId, Buffer.from(secret).toString("hex")),
			backupCodes: await seal(trx, deps, personId, JSON.stringify(backupCodes)),
		});
		return succeed({ uri: totpUri(secret, email, issuer), backupCodes });
	});
}

/** Turns the authenticator on with a code of the app. Returns the session's new cookies. */
export async function confirmAuthenticator(
	deps: SignInDeps,
	owner: AuthenticatorOwner,
	code: string,
	visitor: Visitor,
): Promise<Result<readonly string[]>> {
	return withCodeLimit(deps, owner, visitor, () =>
		commitChange(deps, owner, visitor, "authenticator.turned_on", async (trx, session) => {
			if (session.hasAuthenticator) return alreadyOn("Nothing is left to do.");
			// Backup codes are refused here. They are shown on the same page, so they do not prove that the app
			// works.
			if (readTypedCode(code).isBackupCode) return wrongCode("Enter the six digits that the app shows now.");
			// The code counts as used, because it was visible on this screen and must not work for the next
			// sign-in.
			const spent = await spendCode(trx, deps, owner, code);
			if (!spent.ok) return spent;
			await rows.turnAuthenticatorOn(trx, owner.personId, deps.clock.nowMs());
			// From now on the password alone is not enough to sign in, so all sessions that were opened with it
			// alone end.
			await endSessions(trx, owner.personId);
			return succeed(true);
		}),
	);
}

/** Password and code that a signed-in person enters again to confirm their identity. */
export interface Proof {
	password: string;
	/** Code of the app, or a backup code. Ignored if the person has no authenticator. */
	code: string;
}

/**
 * Makes a change for which the person enters their password and, if they have an authenticator, a code again. The password
 * is checked first, so that a mistyped password does not use up a backup code. `change` must run one transaction as the
 * given actor. It spends the code, and a refused change gives the code back.
 */
export async function withPasswordAndCode<Value>(
	deps: SignInDeps,
	owner: AuthenticatorOwner,
	proof: Proof,
	visitor: Visitor,
	change: (actor: SignedInPerson) => Promise<Result<Value>>,
): Promise<Result<Value>> {
	const checked = await checkPassword(deps, owner.email, proof.password, visitor);
	if (!checked.ok) return checked;
	const before = (trx: Db): Promise<Result<true>> => spendCodeIfNeeded(trx, deps, owner, proof, visitor);
	return withCodeLimit(deps, owner, visitor, () => change({ ...owner, demands: { before } }));
}

/** Spends the code if the person has an authenticator, in the transaction of the change. */
async function spendCodeIfNeeded(
	trx: Db,
	deps: Pick<SignInDeps, "clock" | "random" | "keyRing">,
	{ personId }: CodeHolder,
	{ code }: Proof,
	{ address }: Pick<Visitor, "address">,
): Promise<Result<true>> {
	if (!(await rows.isAuthenticatorOn(trx, personId))) return succeed(true);
	if (code.trim() === "") {
		return wrongCode("Enter the code that your authenticator shows now, or one of your backup codes.");
	}
	const spent = await spendCode(trx, deps, { personId }, code);
	if (!spent.ok) return spent;
	if (spent.value.isBackupCode) {
		const note = { personId, action: "authenticator.backup_code_used", address } as const;
		await noteAudit(trx, note, deps.clock.nowMs());
	}
	return succeed(true);
}

/** Turns the authenticator off, for example before moving to a new phone. Returns the session's new cookies. */
export async function removeAuthenticator(
	deps: SignInDeps,
	owner: AuthenticatorOwner,
	proof: Proof,
	visitor: Visitor,
): Promise<Result<readonly string[]>> {
	return withPasswordAndCode(deps, owner, proof, visitor, () =>
		commitChange(deps, owner, visitor, "authenticator.turned_off", async (trx, session) => {
			if (!session.hasAuthenticator) {
				return refuse("authenticator_not_on", "The authenticator is off already. Nothing is left to do.");
			}
			const spent = await spendCode(trx, deps, owner, proof.code);
			if (!spent.ok) return spent;
			await rows.removeAuthenticator(trx, owner.personId);
			await endSession(trx, session.id);
			return succeed(true);
		}),
	);
}

/**
 * Makes a change to the authenticator and writes its audit entry, which causes a mail to the person. Returns
 * the session's new cookies.
 */
async function commitChange(
	deps: SignInDeps,
	owner: AuthenticatorOwner,
	{ address, device }: Visitor,
	action: "authenticator.turned_on" | "authenticator.turned_off",
	apply: (trx: Db, session: Session) => Promise<Result<true>>,
): Promise<Result<readonly string[]>> {
	const { personId, email } = owner;
	const changed = await changeWithSession(deps, owner, { email, device }, async (trx, session) => {
		const applied = await apply(trx, session);
		if (applied.ok) await noteAudit(trx, { personId, action, address }, deps.clock.nowMs());
		return applied;
	});
	return changed.ok ? succeed(changed.value.setCookies) : changed;
}

/**
 * Counts a code against the limit and then runs `tryCode`. The count is taken back unless the code is wrong
 * or was used before.
 */
export async function withCodeLimit<Value>(
	deps: SignInDeps,
	{ personId, email }: CodeHolder,
	{ device }: Pick<Visitor, "device">,
	tryCode: () => Promise<Result<Value>>,
): Promise<Result<Value>> {
	const { store, clock } = deps;
	const deviceId = await findDevice(deps, email, device);
	const use = { limit: LIMITS.wrongCodes, subject: deviceId ?? `person ${personId}` };
	const tooMany = await useLimits(store.db, [use], clock.nowMs());
	if (tooMany !== null) return tooMany;
	const tried = await tryCode();
	if (tried.ok || !COUNTED_FAULTS.includes(tried.fault.code)) await giveUseBack(store.db, use);
	return tried;
}

const COUNTED_FAULTS: readonly string[] = ["wrong_code", "code_already_used"];

/** Time for which used codes are remembered. A code is accepted for 90 seconds, so this is long enough. */
const CODE_REMEMBERED_MS = 5 * MINUTE_MS;

/**
 * Checks a code and marks it as used. The caller must run this in the transaction of the change that needs the code,
 * under the access lock.
 */
export async function spendCode(
	trx: Db,
	deps: Pick<SignInDeps, "clock" | "random" | "keyRing">,
	{ personId }: Pick<CodeHolder, "personId">,
	text: string,
): Promise<Result<TypedCode>> {
	const authenticator = await rows.findAuthenticator(trx, personId);
	if (authenticator === undefined) {
		return refuse("authenticator_not_on", "The authenticator is not set up. Enter your password to start.");
	}
	const typed = readTypedCode(text);
	const spent = typed.isBackupCode
		? await spendBackupCode(trx, deps, personId, authenticator.backupCodes, typed.code)
		: await spendTotpCode(trx, deps, personId, authenticator.secret, typed.code);
	return spent.ok ? succeed(typed) : spent;
}

async function spendBackupCode(
	trx: Db,
	deps: Pick<SignInDeps, "random" | "keyRing">,
	personId: number,
	sealedCodes: string,
	code: string,
): Promise<Result<true>> {
	const codes = z.array(z.string()).parse(JSON.parse(open(deps, personId, sealedCodes)));
	if (!codes.includes(code)) {
		return wrongCode("This is not one of your backup codes, or it was used before.");
	}
	const unused = codes.filter((other) => other !== code);
	const sealed = await seal(trx, deps, personId, JSON.stringify(unused));
	await rows.setBackupCodes(trx, personId, sealed);
	return succeed(true);
}

async function spendTotpCode(
	trx: Db,
	deps: Pick<SignInDeps, "clock" | "keyRing">,
	personId: number,
	sealedSecret: string,
	code: string,
): Promise<Result<true>> {
	const secret = Buffer.from(open(deps, personId, sealedSecret), "hex");
	const nowMs = deps.clock.nowMs();
	if (!acceptedTotpCodes(secret, nowMs).includes(code)) {
		return wrongCode("This code is not right. Enter the one your authenticator shows now.");
	}
	// The service remembers a used code, so that somebody who watched it being typed cannot sign in with it.
	const expiresAtMs = nowMs + CODE_REMEMBERED_MS;
	if (await rows.markCodeSpent(trx, personId, sha256Hex(code), { nowMs, expiresAtMs })) return succeed(true);
	return refuse("code_already_used", "This code was used before. Wait for the next one.", "code");
}

async function seal(
	trx: Db,
	{ random, keyRing }: Pick<SignInDeps, "random" | "keyRing">,
	personId: number,
	text: string,
): Promise<string> {
	const key = await sealingKeyIn(trx, keyRing);
	return sealForPerson(key, personId, text, random.bytes(SEALING_IV_BYTES));
}

function open({ keyRing }: Pick<SignInDeps, "keyRing">, personId: number, sealed: string): string {
	const text = openForPerson(keyRing, personId, sealed);
	if (text === null) throw new Error("an authenticator does not open with RINGBACK_SECRET_KEY");
	return text;
}

function wrongCode(text: string): Refusal {
	return refuse("wrong_code", text, "code");
}

function alreadyOn(next: string): Refusal {
	return refuse("authenticator_already_on", `The authenticator is on already. ${next}`);
}
