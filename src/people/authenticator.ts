// The authenticator (TOTP, RFC 6238): set up with the password, on only after a code has shown that it works, off only
// with password and code. Its codes: six digits from the app, or a backup code, written so that nobody mistakes one letter
// for another. A code is counted against the limits before it is judged, and one that was right is spent in the
// transaction of what it was for.

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
import type { PersonKind } from "../domain/roles.ts";
import { openForPerson, SEALING_IV_BYTES, sealForPerson } from "../domain/sealing.ts";
import { sha256Hex } from "../domain/signature.ts";
import { MINUTE_MS } from "../domain/time.ts";
import { noteAudit } from "../store/queries/audit.ts";
import {
	endSession,
	endSessions,
	findAuthenticator,
	isAuthenticatorOn,
	markCodeSpent,
	replaceSetup,
	setBackupCodes,
	turnAuthenticatorOff,
	turnAuthenticatorOn,
} from "../store/queries/sign-in.ts";
import { lockAccess } from "../store/queries/sign-in-links.ts";
import type { Db } from "../store/store.ts";
import { signedOut } from "./actor.ts";
import { type AuthSession, changeWithSession, type SignInDeps, type Visitor } from "./auth.ts";
import { giveUseBack, LIMITS, useLimits } from "./limits.ts";
import { checkPassword } from "./passwords.ts";
import { findDevice } from "./signed-cookies.ts";

type Refusal = ReturnType<typeof refuse>;

export interface AuthenticatorSetup {
	/** otpauth://… for the app; holds the secret. */
	uri: string;
	/** Shown this once. */
	backupCodes: readonly string[];
}

/** Whose code it is. */
export interface CodeHolder {
	personId: number;
	publicId: string;
	email: string;
}

interface Holder extends CodeHolder {
	kind: PersonKind;
}

const SETUP_ID_BYTES = 16;
const BACKUP_CODES = 10;

/** `issuer` is what the app lists the account under. */
export async function beginAuthenticator(
	deps: SignInDeps,
	{ personId, email, publicId }: CodeHolder,
	password: string,
	visitor: Visitor,
	issuer: string,
): Promise<Result<AuthenticatorSetup>> {
	const { store, random } = deps;
	const given = await checkPassword(deps, email, password, visitor);
	if (!given.ok) return given;
	const secret = random.bytes(TOTP_SECRET_BYTES);
	const backupCodes = Array.from({ length: BACKUP_CODES }, () => makeBackupCode(random.bytes));
	const { seal } = sealingFor(deps, personId);
	const setup = {
		id: random.hex(SETUP_ID_BYTES),
		userId: publicId,
		secret: seal(Buffer.from(secret).toString("hex")),
		backupCodes: seal(JSON.stringify(backupCodes)),
	};
	return store.transact(async (trx) => {
		await lockAccess(trx);
		if (await isAuthenticatorOn(trx, publicId)) return alreadyOn("Turn it off first.");
		await replaceSetup(trx, setup);
		return succeed({ uri: totpUri(secret, email, issuer), backupCodes });
	});
}

/** Resolves to the session's new cookies. */
export async function confirmAuthenticator(
	deps: SignInDeps,
	person: Holder,
	code: string,
	visitor: Visitor,
): Promise<Result<readonly string[]>> {
	return withCodeLimit(deps, person, visitor, () =>
		commitChange(deps, person, visitor, "authenticator.turned_on", async (trx, session) => {
			if (session.hasAuthenticator) return alreadyOn("Nothing is left to do.");
			// A backup code is on the same page, and shows nothing of the app. The six digits were seen on this screen just
			// now: they must not open the next sign-in.
			if (readTypedCode(code).isBackupCode) return wrongCode("Enter the six digits that the app shows now.");
			const spent = await spendCode(trx, deps, person, code);
			if (!spent.ok) return spent;
			await turnAuthenticatorOn(trx, person.publicId);
			// From now on the password alone is not enough: what it has opened elsewhere ends.
			await endSessions(trx, person.publicId);
			return succeed(true);
		}),
	);
}

interface Proof {
	password: string;
	/** Of the authenticator that is on, or one of its backup codes. */
	code: string;
}

/**
 * Also for a new phone: whoever must have an authenticator can do nothing but set up the new one afterwards. The password
 * comes first: a mistyped one must not use up a backup code. Resolves to the session's new cookies.
 */
export async function removeAuthenticator(
	deps: SignInDeps,
	person: Holder,
	{ password, code }: Proof,
	visitor: Visitor,
): Promise<Result<readonly string[]>> {
	const given = await checkPassword(deps, person.email, password, visitor);
	if (!given.ok) return given;
	return withCodeLimit(deps, person, visitor, () =>
		commitChange(deps, person, visitor, "authenticator.turned_off", async (trx, session) => {
			if (!session.hasAuthenticator) {
				return refuse("authenticator_not_on", "The authenticator is off already. Nothing is left to do.");
			}
			const spent = await spendCode(trx, deps, person, code);
			if (!spent.ok) return spent;
			await turnAuthenticatorOff(trx, person.publicId);
			await endSession(trx, session.token);
			return succeed(true);
		}),
	);
}

/** The change, and the note from which the person is told. */
async function commitChange(
	deps: SignInDeps,
	{ personId, kind, email }: Holder,
	visitor: Visitor,
	action: "authenticator.turned_on" | "authenticator.turned_off",
	apply: (trx: Db, session: AuthSession) => Promise<Result<true>>,
): Promise<Result<readonly string[]>> {
	const own = await deps.auth.findSession(visitor);
	if (own === null) return signedOut();
	const maker = { personId, kind, sessionId: own.session.id };
	const changed = await changeWithSession(deps, maker, email, async (trx, session) => {
		const applied = await apply(trx, session);
		if (applied.ok) await noteAudit(trx, { personId, action, address: visitor.address }, deps.clock.nowMs());
		return applied;
	});
	return changed.ok ? succeed(changed.value.setCookies) : changed;
}

/** Around what judges a code. Only a wrong one stays counted, and one that was used before. */
export async function withCodeLimit<Value>(
	deps: SignInDeps,
	{ publicId, email }: CodeHolder,
	{ device }: Pick<Visitor, "device">,
	tryCode: () => Promise<Result<Value>>,
): Promise<Result<Value>> {
	const { store, clock } = deps;
	const known = await findDevice(deps, email, device);
	const use = { limit: LIMITS.wrongCodes, subject: known ?? publicId };
	const tooMany = await useLimits(store.db, [use], clock.nowMs());
	if (tooMany !== null) return tooMany;
	const tried = await tryCode();
	if (tried.ok || !WRONG.includes(tried.fault.code)) await giveUseBack(store.db, use);
	return tried;
}

const WRONG: readonly string[] = ["wrong_code", "code_already_used"];

/** A code is accepted for 90 seconds; remembering it for five minutes is more than enough. */
const CODE_REMEMBERED_MS = 5 * MINUTE_MS;

/** In the transaction of what the code is for, which holds the lock of the links. */
export async function spendCode(
	trx: Db,
	deps: Pick<SignInDeps, "clock" | "random" | "sealingKey">,
	{ personId, publicId }: CodeHolder,
	text: string,
): Promise<Result<TypedCode>> {
	const typed = readTypedCode(text);
	const { seal, open } = sealingFor(deps, personId);
	const authenticator = await findAuthenticator(trx, publicId);
	if (authenticator === undefined) {
		return refuse("authenticator_not_on", "The authenticator is not set up. Enter your password to start.");
	}
	if (typed.isBackupCode) {
		const codes = z.array(z.string()).parse(JSON.parse(open(authenticator.backupCodes)));
		if (!codes.includes(typed.code)) {
			return wrongCode("This is not one of your backup codes, or it was used before.");
		}
		const left = codes.filter((code) => code !== typed.code);
		await setBackupCodes(trx, authenticator.id, seal(JSON.stringify(left)));
		return succeed(typed);
	}
	const secret = Buffer.from(open(authenticator.secret), "hex");
	const nowMs = deps.clock.nowMs();
	if (!acceptedTotpCodes(secret, nowMs).includes(typed.code)) {
		return wrongCode("This code is not right. Enter the one your authenticator shows now.");
	}
	// Whoever read it over a shoulder must not get in with it.
	if (await markCodeSpent(trx, personId, sha256Hex(typed.code), nowMs, nowMs + CODE_REMEMBERED_MS)) {
		return succeed(typed);
	}
	return refuse("code_already_used", "This code was used before. Wait for the next one.", "code");
}

function sealingFor({ random, sealingKey }: Pick<SignInDeps, "random" | "sealingKey">, personId: number) {
	return {
		seal: (text: string) => sealForPerson(sealingKey, personId, text, random.bytes(SEALING_IV_BYTES)),
		open(sealed: string): string {
			const text = openForPerson(sealingKey, personId, sealed);
			if (text === null) throw new Error("An authenticator does not open with RINGBACK_SECRET_KEY.");
			return text;
		},
	};
}

function wrongCode(text: string): Refusal {
	return refuse("wrong_code", text, "code");
}

function alreadyOn(next: string): Refusal {
	return refuse("authenticator_already_on", `The authenticator is on already. ${next}`);
}
