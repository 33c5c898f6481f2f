// The authenticator (TOTP, RFC 6238): set up with the password, on only after a code has shown that it works, off only
// with password and code. Its codes: six digits from the app, or a backup code, written so that nobody mistakes one letter
// for another. A code is counted against the limits before it is judged, and one that was right is spent in the
// transaction of what it was for.

import { createHmac } from "node:crypto";
import { symmetricDecrypt, symmetricEncrypt } from "better-auth/crypto";
import { z } from "zod";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import type { PersonKind } from "../domain/roles.ts";
import { sha256Hex } from "../domain/signature.ts";
import { MINUTE_MS, SECOND_MS } from "../domain/time.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { lockLinks } from "../store/queries/links.ts";
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
import type { Db } from "../store/store.ts";
import { signedOut } from "./actor.ts";
import { type AuthSession, changeWithSession, type SignInDeps, signInSecret, type Visitor } from "./auth.ts";
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

/** As text, because 1.0.0 made it so; 128 bits, the least that RFC 4226 asks for. */
const SECRET_BYTES = 16;
const SETUP_ID_BYTES = 16;
const BACKUP_CODES = 10;

/** `issuer` is what the app lists the account under. */
export async function beginAuthenticator(
	deps: SignInDeps,
	{ email, publicId }: CodeHolder,
	password: string,
	visitor: Visitor,
	issuer: string,
): Promise<Result<AuthenticatorSetup>> {
	const { store, random, sealingKey } = deps;
	const given = await checkPassword(deps, email, password, visitor);
	if (!given.ok) return given;
	const secret = random.hex(SECRET_BYTES);
	const backupCodes = Array.from({ length: BACKUP_CODES }, () => makeBackupCode(random.bytes));
	const setup = {
		id: random.hex(SETUP_ID_BYTES),
		userId: publicId,
		secret: await seal(sealingKey, secret),
		backupCodes: await seal(sealingKey, JSON.stringify(backupCodes)),
	};
	return store.transact(async (trx) => {
		await lockLinks(trx);
		if (await isAuthenticatorOn(trx, publicId)) return alreadyOn("Turn it off first.");
		await replaceSetup(trx, setup);
		return succeed({ uri: uriOf(secret, email, issuer), backupCodes });
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

/** A code is another one after this; the one before and the one after are good, too, because clocks differ. */
const CODE_STEP_MS = 30 * SECOND_MS;
const GOOD_STEPS = [-1, 0, 1];
/** A code is accepted for 90 seconds; remembering it for five minutes is more than enough. */
const CODE_REMEMBERED_MS = 5 * MINUTE_MS;

/** In the transaction of what the code is for, which holds the lock of the links. */
export async function spendCode(
	trx: Db,
	{ clock, sealingKey }: Pick<SignInDeps, "clock" | "sealingKey">,
	{ personId, publicId }: CodeHolder,
	text: string,
): Promise<Result<TypedCode>> {
	const typed = readTypedCode(text);
	const authenticator = await findAuthenticator(trx, publicId);
	if (authenticator === undefined) {
		return refuse("authenticator_not_on", "The authenticator is not set up. Enter your password to start.");
	}
	if (typed.isBackupCode) {
		const codes = z.array(z.string()).parse(JSON.parse(await open(sealingKey, authenticator.backupCodes)));
		if (!codes.includes(typed.code)) {
			return wrongCode("This is not one of your backup codes, or it was used before.");
		}
		const left = codes.filter((code) => code !== typed.code);
		await setBackupCodes(trx, authenticator.id, await seal(sealingKey, JSON.stringify(left)));
		return succeed(typed);
	}
	const secret = await open(sealingKey, authenticator.secret);
	const nowMs = clock.nowMs();
	const good = GOOD_STEPS.map((steps) => codeAt(secret, nowMs + steps * CODE_STEP_MS));
	if (!good.includes(typed.code)) {
		return wrongCode("This code is not right. Enter the one your authenticator shows now.");
	}
	// Whoever read it over a shoulder must not get in with it.
	if (await markCodeSpent(trx, personId, sha256Hex(typed.code), nowMs, nowMs + CODE_REMEMBERED_MS)) {
		return succeed(typed);
	}
	return refuse("code_already_used", "This code was used before. Wait for the next one.", "code");
}

function codeAt(secret: string, atMs: number): string {
	const counter = Buffer.alloc(8);
	counter.writeBigUInt64BE(BigInt(Math.floor(atMs / CODE_STEP_MS)));
	const digest = createHmac("sha1", secret).update(counter).digest();
	const offset = (digest.at(-1) ?? 0) & 15;
	return String((digest.readUInt32BE(offset) & 0x7fff_ffff) % 1_000_000).padStart(6, "0");
}

function seal(sealingKey: Uint8Array, data: string): Promise<string> {
	return symmetricEncrypt({ key: signInSecret(sealingKey), data });
}

function open(sealingKey: Uint8Array, data: string): Promise<string> {
	return symmetricDecrypt({ key: signInSecret(sealingKey), data });
}

/** Apps show a plus as a plus, so blanks are escaped otherwise. */
function uriOf(secret: string, email: string, issuer: string): string {
	const [name, account] = [encodeURIComponent(issuer), encodeURIComponent(email)];
	return `otpauth://totp/${name}:${account}?secret=${base32(secret)}&digits=6&period=30&issuer=${name}`;
}

function base32(text: string): string {
	const bits = Array.from(Buffer.from(text), (byte) => byte.toString(2).padStart(8, "0")).join("");
	const fives = bits.match(/.{1,5}/g) ?? [];
	return fives
		.map((five) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[Number.parseInt(five.padEnd(5, "0"), 2)])
		.join("");
}

/** Without 0 and O, 1, I and L. */
const LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ";
/** 31 to the power of ten is close to 2 to the power of 50; ten guesses in a quarter of an hour get nowhere. */
const LENGTH = 10;
/** Bytes from here on are thrown away, because they would make the first letters more likely than the last. */
const EVEN_BYTES = 256 - (256 % LETTERS.length);

export interface TypedCode {
	isBackupCode: boolean;
	/** As it is compared: without blanks, a backup code as it was shown. */
	code: string;
}

/** Such as 7KQ2M-XW4HT. */
export function makeBackupCode(randomBytes: (count: number) => Uint8Array): string {
	let letters = "";
	while (letters.length < LENGTH) {
		for (const byte of randomBytes(LENGTH)) {
			if (byte < EVEN_BYTES) letters += LETTERS[byte % LETTERS.length];
		}
	}
	return hyphenate(letters.slice(0, LENGTH));
}

/** People type blanks, small letters and no hyphen. */
export function readTypedCode(text: string): TypedCode {
	const code = text.replace(/\s+/g, "");
	if (/^\d{6}$/.test(code)) return { isBackupCode: false, code };
	return { isBackupCode: true, code: hyphenate(code.replaceAll("-", "").toUpperCase()) };
}

function hyphenate(letters: string): string {
	return `${letters.slice(0, LENGTH / 2)}-${letters.slice(LENGTH / 2)}`;
}

function wrongCode(text: string): Refusal {
	return refuse("wrong_code", text, "code");
}

function alreadyOn(next: string): Refusal {
	return refuse("authenticator_already_on", `The authenticator is on already. ${next}`);
}
