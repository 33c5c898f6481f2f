// How many wrong passwords an account takes: few from one network, more from all of them together. Unknown
// addresses are counted alike, so that nobody learns who has an account.

import { networkOf } from "../domain/client-address.ts";
import type { Fault } from "../domain/fault.ts";
import { listSessionAddresses } from "../store/sign-in.ts";
import type { AccountsDeps } from "./deps.ts";
import {
	forgetTurns,
	giveTurnBack,
	takeTurn,
	WRONG_PASSWORDS_FROM_ANYWHERE,
	WRONG_PASSWORDS_FROM_ONE_PLACE,
} from "./limits.ts";

type TurnDeps = Pick<AccountsDeps, "store" | "clock">;

/** Sessions that are looked at: a person has a handful. */
const MAX_SESSIONS_LOOKED_AT = 100;

/** Null: the password may be tried. Every try counts as a wrong one until it is forgiven. */
export async function takePasswordTurn(
	{ store, clock }: TurnDeps,
	email: string,
	address: string,
): Promise<Fault | null> {
	const nowMs = clock.nowMs();
	const here = await takeTurn(store.db, WRONG_PASSWORDS_FROM_ONE_PLACE, placeOf(email, address), nowMs);
	if (here !== null) return here;
	const anywhere = await takeTurn(store.db, WRONG_PASSWORDS_FROM_ANYWHERE, email, nowMs);
	if (anywhere === null || (await isSignedInThere({ store }, email, address))) return null;
	return anywhere;
}

/** It was no wrong password: the right one (200) also makes up for those before it from there. */
export async function forgivePassword(
	{ store }: Pick<TurnDeps, "store">,
	email: string,
	address: string,
	status: number,
): Promise<void> {
	const place = placeOf(email, address);
	if (status === 200) await forgetTurns(store.db, WRONG_PASSWORDS_FROM_ONE_PLACE, place);
	else await giveTurnBack(store.db, WRONG_PASSWORDS_FROM_ONE_PLACE, place);
	await giveTurnBack(store.db, WRONG_PASSWORDS_FROM_ANYWHERE, email);
}

/** Those who guess from elsewhere must not keep somebody out who is at home where they are. */
async function isSignedInThere(
	{ store }: Pick<TurnDeps, "store">,
	email: string,
	address: string,
): Promise<boolean> {
	const known = await listSessionAddresses(store.db, email, MAX_SESSIONS_LOOKED_AT);
	return known.some((other) => networkOf(other) === networkOf(address));
}

function placeOf(email: string, address: string): string {
	return `${email} ${networkOf(address)}`;
}
