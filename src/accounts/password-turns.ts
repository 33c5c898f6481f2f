// How many wrong passwords an account takes, on the sign-in page and wherever else it is asked for: few from one
// network, more from all of them together, and some from each browser that has signed in before. Unknown addresses
// are counted alike, so that nobody learns who has an account.

import { networkOf } from "../domain/client-address.ts";
import { type Result, succeed } from "../domain/fault.ts";
import type { Db } from "../store/store.ts";
import type { Visitor } from "./auth.ts";
import { type DeviceDeps, findDevice } from "./device-cookie.ts";
import {
	forgetTurns,
	giveTurnBack,
	PASSWORDS_FROM_ONE_NETWORK,
	type Turn,
	takeTurns,
	WRONG_PASSWORDS_FROM_ANYWHERE,
	WRONG_PASSWORDS_FROM_ONE_BROWSER,
	WRONG_PASSWORDS_FROM_ONE_PLACE,
} from "./limits.ts";
import { networkTurns } from "./network-turns.ts";

type TurnDeps = Pick<DeviceDeps, "store" | "clock" | "sealingKey">;

export interface PasswordTurn {
	/** Of the browser that is known, or else of the network. */
	here: Turn;
	/** Null for a browser that is known: it takes nothing from anybody else. */
	anywhere: Turn | null;
}

/** Before the password is tried. It counts as a wrong one until it is forgiven. */
export async function takePasswordTurn(
	deps: TurnDeps,
	email: string,
	visitor: Pick<Visitor, "address" | "device">,
): Promise<Result<PasswordTurn>> {
	const turn = await chooseTurn(deps, email, visitor);
	const turns = [
		...networkTurns(PASSWORDS_FROM_ONE_NETWORK, visitor.address),
		turn.here,
		...(turn.anywhere === null ? [] : [turn.anywhere]),
	];
	const refused = await takeTurns(deps.store.db, turns, deps.clock.nowMs());
	return refused === null ? succeed(turn) : { ok: false, fault: refused };
}

/** It was no wrong password. The right one also makes up for those before it from there. */
export async function forgivePassword(
	{ store }: Pick<TurnDeps, "store">,
	{ here, anywhere }: PasswordTurn,
	isRight: boolean,
): Promise<void> {
	if (isRight) await forgetTurns(store.db, here.limit, here.subject);
	else await giveTurnBack(store.db, here);
	if (anywhere !== null) await giveTurnBack(store.db, anywhere);
}

/**
 * In the transaction that sets a new password: whatever was guessed, it was the old one. `address` is where the new one
 * is used next; null where nobody knows. A known browser has no guesses left to forget: its cookie ends with the old one.
 */
export async function forgetWrongPasswords(trx: Db, email: string, address: string | null): Promise<void> {
	await forgetTurns(trx, WRONG_PASSWORDS_FROM_ANYWHERE, email);
	if (address === null) return;
	const { limit, subject } = turnFrom(email, address);
	await forgetTurns(trx, limit, subject);
}

/** For pages that ask somebody who is signed in for the password again: whoever took the session cannot guess it. */
export async function withPasswordTurn<Value>(
	deps: TurnDeps,
	email: string,
	visitor: Pick<Visitor, "address" | "device">,
	tryPassword: () => Promise<Result<Value>>,
): Promise<Result<Value>> {
	const taken = await takePasswordTurn(deps, email, visitor);
	if (!taken.ok) return taken;
	const tried = await tryPassword();
	if (tried.ok) await forgivePassword(deps, taken.value, true);
	else if (tried.fault.code !== "wrong_password") await forgivePassword(deps, taken.value, false);
	return tried;
}

async function chooseTurn(
	deps: TurnDeps,
	email: string,
	{ address, device }: Pick<Visitor, "address" | "device">,
): Promise<PasswordTurn> {
	const known = await findDevice(deps, email, device);
	if (known !== null) {
		return { here: { limit: WRONG_PASSWORDS_FROM_ONE_BROWSER, subject: known }, anywhere: null };
	}
	return {
		here: turnFrom(email, address),
		anywhere: { limit: WRONG_PASSWORDS_FROM_ANYWHERE, subject: email },
	};
}

function turnFrom(email: string, address: string): Turn {
	return { limit: WRONG_PASSWORDS_FROM_ONE_PLACE, subject: `${email} ${networkOf(address)}` };
}
