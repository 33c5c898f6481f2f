// Trying a code of the second step: it counts against the account's limit before better-auth judges it, and one that was
// right is spent. Six digits and backup codes count together.

import { readTypedCode, type TypedCode } from "../domain/authenticator.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { sha256Hex } from "../domain/signature.ts";
import { MINUTE_MS } from "../domain/time.ts";
import { spendCode } from "../store/queries/sign-in.ts";
import type { Db } from "../store/store.ts";
import type { Auth, AuthAnswer, Visitor } from "./auth.ts";
import { isWrongCode, refusalOf } from "./auth-fault.ts";
import {
	CODES_FROM_ONE_NETWORK,
	giveUseBack,
	networkUses,
	useLimits,
	WRONG_CODES_FOR_ONE_ACCOUNT,
	WRONG_CODES_FROM_ONE_BROWSER,
} from "./limits.ts";
import { type CookieDeps, findDevice } from "./signed-cookies.ts";

export interface CodeDeps extends Pick<CookieDeps, "store" | "clock" | "sealingKey"> {
	auth: Auth;
}

/** A code is accepted for 90 seconds; remembering it for five minutes is more than enough. */
const CODE_LIFE_MS = 5 * MINUTE_MS;

/** Whose code it is. */
export interface CodeHolder {
	personId: number;
	publicId: string;
	email: string;
}

export interface EnteredCode {
	text: string;
	/** To set the app up only its own digits will do: a backup code is on the same page, and shows nothing of the app. */
	accepts: "app" | "either";
}

/** A code that better-auth found right. The caller spends it together with what it was for. */
export interface RightCode {
	answer: AuthAnswer;
	typed: TypedCode;
	/** False: used before. Within the transaction that does what the code was for. */
	spend(trx: Db): Promise<boolean>;
	/** Takes back the use that was counted for it: the code was right, and not used before. */
	forgive(): Promise<void>;
}

/** How many codes come from one network: counted before anything is looked up. */
export function useNetworkForCode(
	{ store, clock }: Pick<CodeDeps, "store" | "clock">,
	{ address }: Pick<Visitor, "address">,
): ReturnType<typeof useLimits> {
	return useLimits(store.db, networkUses(CODES_FROM_ONE_NETWORK, address), clock.nowMs());
}

export async function tryCode(
	deps: CodeDeps,
	holder: CodeHolder,
	{ text, accepts }: EnteredCode,
	visitor: Visitor,
): Promise<Result<RightCode>> {
	const { store, clock, auth } = deps;
	const typed = readTypedCode(text);
	if (typed.isBackupCode && accepts === "app") {
		return refuse("wrong_code", "Enter the six digits that the app shows now.", "code");
	}
	const known = await findDevice(deps, holder.email, visitor.device);
	const use =
		known === null
			? { limit: WRONG_CODES_FOR_ONE_ACCOUNT, subject: holder.publicId }
			: { limit: WRONG_CODES_FROM_ONE_BROWSER, subject: known };
	const tooMany = await useLimits(store.db, [use], clock.nowMs());
	if (tooMany !== null) return tooMany;
	const path = typed.isBackupCode ? "/two-factor/verify-backup-code" : "/two-factor/verify-totp";
	const answer = await auth.post(path, { code: typed.code }, visitor);
	if (answer.status !== 200) {
		// Nothing was judged: the step is over, or another request with the same challenge was faster.
		if (!isWrongCode(answer)) await giveUseBack(store.db, use);
		return refusalOf(answer);
	}
	return succeed({
		answer,
		typed,
		spend: async (trx) => {
			const nowMs = clock.nowMs();
			// better-auth takes a backup code off its list itself.
			if (typed.isBackupCode) return true;
			return spendCode(trx, holder.personId, sha256Hex(typed.code), nowMs, nowMs + CODE_LIFE_MS);
		},
		forgive: () => giveUseBack(store.db, use),
	});
}

export function codeAlreadyUsed(what: string): ReturnType<typeof refuse> {
	return refuse("code_already_used", `This code was used before. ${what}`, "code");
}
