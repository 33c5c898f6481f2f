// How many wrong passwords an account takes, on the sign-in page and wherever else it is asked for: few from one
// network, more from all of them together, and some from each browser that has signed in before. Unknown addresses
// are counted alike, so that nobody learns who has an account.

import { networkOf } from "../domain/client-address.ts";
import { type Result, succeed } from "../domain/fault.ts";
import type { Db } from "../store/store.ts";
import type { Visitor } from "./auth.ts";
import {
	forgetUse,
	giveUseBack,
	networkUses,
	PASSWORDS_FROM_ONE_NETWORK,
	type Use,
	useLimits,
	WRONG_PASSWORDS_FROM_ANYWHERE,
	WRONG_PASSWORDS_FROM_ONE_BROWSER,
	WRONG_PASSWORDS_FROM_ONE_NETWORK,
} from "./limits.ts";
import { type CookieDeps, findDevice } from "./signed-cookies.ts";

type LimitDeps = Pick<CookieDeps, "store" | "clock" | "sealingKey">;
type Guesser = Pick<Visitor, "address" | "device">;

/** Counted before the password is tried: whoever took a session cannot guess it either. Only a wrong one stays counted. */
export async function withPasswordLimit<Value>(
	deps: LimitDeps,
	email: string,
	guesser: Guesser,
	tryPassword: () => Promise<Result<Value>>,
): Promise<Result<Value>> {
	const used = await usePassword(deps, email, guesser);
	if (!used.ok) return used;
	const tried = await tryPassword();
	if (!tried.ok && WRONG.includes(tried.fault.code)) return tried;
	const { db } = deps.store;
	const [here, ...others] = used.value;
	// The right one also makes up for the wrong ones before it from there.
	if (here !== undefined) await (tried.ok ? forgetUse(db, here) : giveUseBack(db, here));
	for (const use of others) await giveUseBack(db, use);
	return tried;
}

const WRONG: readonly string[] = ["wrong_password", "wrong_credentials"];

/** Counts one password as a wrong one. The first of the uses is that of the browser or network it came from. */
export async function usePassword(
	deps: LimitDeps,
	email: string,
	guesser: Guesser,
): Promise<Result<readonly Use[]>> {
	const known = await findDevice(deps, email, guesser.device);
	const uses: readonly Use[] =
		known === null
			? [fromNetwork(email, guesser.address), { limit: WRONG_PASSWORDS_FROM_ANYWHERE, subject: email }]
			: // A known browser uses its own limit and none of the account's.
				[{ limit: WRONG_PASSWORDS_FROM_ONE_BROWSER, subject: known }];
	const all = [...networkUses(PASSWORDS_FROM_ONE_NETWORK, guesser.address), ...uses];
	return (await useLimits(deps.store.db, all, deps.clock.nowMs())) ?? succeed(uses);
}

/**
 * In the transaction that sets a new password: whatever was guessed, it was the old one. `address` is where the new one
 * is used next; null where nobody knows. A known browser has no guesses left to forget: its cookie ends with the old one.
 */
export async function forgetWrongPasswords(trx: Db, email: string, address: string | null): Promise<void> {
	await forgetUse(trx, { limit: WRONG_PASSWORDS_FROM_ANYWHERE, subject: email });
	if (address !== null) await forgetUse(trx, fromNetwork(email, address));
}

function fromNetwork(email: string, address: string): Use {
	return { limit: WRONG_PASSWORDS_FROM_ONE_NETWORK, subject: `${email} ${networkOf(address)}` };
}
